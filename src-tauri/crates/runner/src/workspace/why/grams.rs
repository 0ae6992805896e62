//! Every fourth window of eight bytes of many texts, by its hash: where a text may go on as another one does.
//!
//! A text that has 11 bytes in common with an indexed one has a window in common with it, wherever they begin. The
//! first window of a text is always there, so a text is found whole from 8 bytes on. Must not compare more than
//! windows.

/// The bytes of a window.
pub(super) const WINDOW: usize = 8;
/// Every so many bytes a window is indexed.
pub(super) const STEP: usize = 4;

/// Places of windows in one long run of bytes, in buckets by hash; in a bucket in their order.
#[derive(Debug, Default)]
pub(super) struct Grams {
    shift: u32,
    /// Where each bucket begins; one entry more than buckets.
    offsets: Vec<u32>,
    places: Vec<u32>,
}

impl Grams {
    /// Indexes texts, each given by its start and its length in `bytes`, in the order of their starts.
    pub(super) fn new(bytes: &[u8], texts: impl Iterator<Item = (u32, u32)> + Clone) -> Grams {
        let windows = || {
            texts.clone().filter(|(_, len)| *len as usize >= WINDOW).flat_map(|(start, len)| {
                let last = start as usize + len as usize - WINDOW;
                (start as usize..=last).step_by(STEP)
            })
        };
        let many = windows().count();
        let bits = (usize::BITS - many.leading_zeros()).clamp(4, 28);
        let shift = 64 - bits;
        let mut offsets = vec![0_u32; (1 << bits) + 1];
        for at in windows() {
            offsets[bucket(&bytes[at..at + WINDOW], shift) + 1] += 1;
        }
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut next = offsets.clone();
        let mut places = vec![0_u32; many];
        for at in windows() {
            let slot = &mut next[bucket(&bytes[at..at + WINDOW], shift)];
            places[*slot as usize] = at as u32;
            *slot += 1;
        }
        Grams { shift, offsets, places }
    }

    /// How many windows are indexed.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The places before `end` whose window may be this one, the last first.
    pub(super) fn like(&self, window: &[u8], end: u32) -> impl Iterator<Item = u32> + '_ {
        let places = match self.offsets.len() {
            0 => &[],
            _ => {
                let bucket = bucket(window, self.shift);
                let all = &self.places[self.offsets[bucket] as usize..self.offsets[bucket + 1] as usize];
                &all[..all.partition_point(|place| *place < end)]
            }
        };
        places.iter().rev().copied()
    }
}

fn bucket(window: &[u8], shift: u32) -> usize {
    let mut bytes = [0_u8; WINDOW];
    bytes.copy_from_slice(&window[..WINDOW]);
    (u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}
