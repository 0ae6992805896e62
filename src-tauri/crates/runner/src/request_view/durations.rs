//! How long the members of a group took, counted in lengths of a quarter of an octave: 1 ms and a minute have room in
//! one picture, and a million members cost no more than ten but for a byte each.

use crate::views::ViewDurations;

/// How many lengths there are; the last one holds all that took more than three hours.
const LENGTHS: usize = 96;
/// How many cells a group's row shows.
const CELLS: usize = 8;
/// Of a member that has not ended.
const NONE: u8 = u8::MAX;
/// Set for a member that failed.
const FAILED: u8 = 1 << 7;

/// See the module.
#[derive(Clone)]
pub(super) struct Durations {
    /// The length of each member, by its slot.
    of: Vec<u8>,
    /// Of each length how many there are, and how many of those failed.
    counts: Box<[(u32, u32); LENGTHS]>,
}

impl Default for Durations {
    fn default() -> Self {
        Durations { of: Vec::new(), counts: Box::new([(0, 0); LENGTHS]) }
    }
}

/// Which length a time is of.
fn length_of(ms: i64) -> u8 {
    match ms {
        ..=0 => 0,
        ms => (1.0 + 4.0 * (ms as f64).log2()).min(LENGTHS as f64 - 1.0) as u8,
    }
}

/// The shortest time of a length.
fn shortest(length: usize) -> i64 {
    match length {
        0 => 0,
        length => ((length - 1) as f64 / 4.0).exp2().ceil() as i64,
    }
}

impl Durations {
    /// Says how long the member in a slot took, in milliseconds, and whether it failed; `None` if it has not ended.
    pub(super) fn set(&mut self, slot: u32, took: Option<(i64, bool)>) {
        let slot = slot as usize;
        if slot >= self.of.len() {
            self.of.resize(slot + 1, NONE);
        }
        let new = took.map_or(NONE, |(ms, has_failed)| length_of(ms) | if has_failed { FAILED } else { 0 });
        let old = std::mem::replace(&mut self.of[slot], new);
        for (code, by) in [(old, -1), (new, 1)].into_iter().filter(|(code, _)| *code != NONE) {
            let (all, failed) = &mut self.counts[usize::from(code & !FAILED)];
            *all = all.saturating_add_signed(by);
            if code & FAILED != 0 {
                *failed = failed.saturating_add_signed(by);
            }
        }
    }

    /// As a row shows them; `None` if no member has ended.
    pub(super) fn view(&self) -> Option<ViewDurations> {
        let is_used = |count: &(u32, u32)| count.0 > 0;
        let (first, last) = (self.counts.iter().position(is_used)?, self.counts.iter().rposition(is_used)?);
        let used = &self.counts[first..=last];
        let sum = |part: &[(u32, u32)]| part.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let (cells, failures) = used.chunks(used.len().div_ceil(CELLS)).map(sum).unzip();
        let from = shortest(first);
        Some(ViewDurations { from, to: (shortest(last + 1) - 1).max(from), cells, failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_in_one_cell() {
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut durations, mut plain) = (Durations::default(), vec![None; 400]);
        for _ in 0..5_000 {
            let slot = rng.usize(0..plain.len());
            let (has_ended, octave) = (rng.u32(0..4) > 0, rng.u32(1..30));
            let took = (rng.i64(0..1 << octave), rng.bool());
            plain[slot] = has_ended.then_some(took);
            durations.set(slot as u32, plain[slot]);
        }
        let ended: Vec<(i64, bool)> = plain.into_iter().flatten().collect();
        let view = durations.view().expect("some ended");
        assert!(view.cells.len() <= CELLS && view.cells.len() == view.failures.len());
        assert_eq!(view.cells.iter().sum::<u32>() as usize, ended.len());
        assert_eq!(view.failures.iter().sum::<u32>() as usize, ended.iter().filter(|(_, failed)| *failed).count());
        assert!(ended.iter().all(|(ms, _)| (view.from..=view.to).contains(ms) || *ms > shortest(LENGTHS - 1)));
    }

    #[test]
    fn times_that_are_close_stand_in_cells_of_their_own() {
        let mut durations = Durations::default();
        assert_eq!(durations.view(), None);
        for (slot, ms) in (0..).zip([343, 363, 424]) {
            durations.set(slot, Some((ms, slot == 2)));
        }
        let view = durations.view().expect("all ended");
        assert_eq!((view.cells, view.failures), (vec![1, 2], vec![0, 1]));
        assert!(view.from <= 343 && view.to >= 424, "{} to {}", view.from, view.to);
    }

    #[test]
    fn a_length_begins_where_the_one_before_ends() {
        for ms in 0..100_000 {
            let length = usize::from(length_of(ms));
            assert!((shortest(length)..shortest(length + 1).max(shortest(length) + 1)).contains(&ms), "{ms}");
        }
    }
}
