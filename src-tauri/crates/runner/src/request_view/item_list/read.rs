//! Windows of the list, now and as of an event, and what has to be read to show one item.

use engine::event::Seq;
use engine::item::ItemStatus;

use super::*;

/// What has to be read of one item.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The event that added it.
    pub(crate) seq: Seq,
    /// The event that its fields are of.
    pub(crate) newest: Seq,
    /// The event that it comes from.
    pub(crate) from: Seq,
    /// The events that say what it shows; of pieces of a long text only the first, or the last while it grows.
    pub(crate) events: Vec<Seq>,
    /// How many bytes its text has, where it was added in progress.
    pub(crate) text_bytes: Option<u64>,
    /// Whether pieces may come to its text.
    pub(crate) is_growing: bool,
    /// Its status, where that is not what its events say.
    pub(crate) status: Option<ItemStatus>,
    /// Of a continuation: the block it had come to.
    pub(crate) continued: Option<Place>,
    /// How many items stand before it.
    pub(crate) before: u64,
    /// Of a snapshot: whether its sequencer had ended.
    pub(crate) is_over: bool,
}

/// The most bytes of one text that a window of items has.
pub(crate) const MAX_SHOWN_BYTES: usize = 4 << 10;

/// The pieces that the first bytes of a text are of, or the last ones while it grows.
fn shown_pieces(pieces: &[(u32, u64)], is_growing: bool) -> impl Iterator<Item = u32> {
    let most = MAX_SHOWN_BYTES as u64;
    let total = pieces.last().map_or(0, |(_, bytes)| *bytes);
    let shown = if is_growing {
        &pieces[pieces.partition_point(|(_, bytes)| *bytes + most <= total)..]
    } else {
        &pieces[..(pieces.partition_point(|(_, bytes)| *bytes < most) + 1).min(pieces.len())]
    };
    shown.iter().map(|(seq, _)| *seq)
}

impl ItemList {
    /// Who sees the item at an entry as of an event, as bits; none if no item is there. Those of an identity are looked
    /// at by their group.
    fn shown_at(&self, at: usize, seq: u32) -> u8 {
        let alive = |entry: &Entry| entry.from <= seq && seq < entry.until;
        let entry = &self.entries[at];
        let group = if entry.flags & IS_KEYED == 0 { None } else { self.group_of.get(&(at as u32)) };
        let Some(group) = group else {
            let is_between = |(from, until): &(u32, u32)| (*from..*until).contains(&seq);
            let is_item = alive(entry) && !self.gaps_of(at as u32).iter().any(is_between);
            return if is_item { entry.audiences } else { 0 };
        };
        let members = &self.groups[*group as usize].members;
        if members.first() != Some(&(at as u32)) {
            return 0;
        }
        let newest = members.iter().map(|one| &self.entries[*one as usize]).rfind(|one| alive(one));
        newest.map_or(0, |newest| newest.audiences)
    }

    /// When the item of an entry was none, between two runs of its attempt.
    pub(super) fn gaps_of(&self, at: u32) -> &[(u32, u32)] {
        self.gaps.get(&at).map(Vec::as_slice).unwrap_or_default()
    }

    /// Counts for each audience as of an event; now where none is named.
    pub(crate) fn counts_at(&self, at: Option<Seq>) -> Counts {
        let Some(seq) = at.map(short) else { return self.counts() };
        let mut counts = [0; 4];
        for index in 0..self.entries.partition_point(|entry| entry.seq <= seq) {
            let shown_to = self.shown_at(index, seq);
            counts = std::array::from_fn(|n| counts[n] + u64::from(shown_to >> n & 1));
        }
        counts
    }

    /// The events that added a window of an audience's items.
    pub(crate) fn window(&self, audience: Audience, offset: u64, limit: usize, at: Option<Seq>) -> Vec<Seq> {
        let n = index_of(audience);
        let mut skip = offset;
        let mut found = Vec::new();
        let seq = at.map(short);
        for (chunk, counts) in self.chunks.iter().enumerate() {
            if seq.is_none() && u64::from(counts[n]) <= skip {
                skip -= u64::from(counts[n]);
                continue;
            }
            let first = chunk * CHUNK;
            if seq.is_some_and(|seq| self.entries[first].seq > seq) {
                break;
            }
            for index in first..(first + CHUNK).min(self.entries.len()) {
                let entry = &self.entries[index];
                let shown_to = seq.map_or(entry.shown_to, |seq| self.shown_at(index, seq));
                if shown_to >> n & 1 == 0 {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                } else if found.len() < limit {
                    found.push(entry.seq.into());
                }
            }
            if found.len() >= limit {
                break;
            }
        }
        found
    }

    /// What has to be read of an item, by the event that added it.
    pub(crate) fn wanted(&self, seq: Seq, at: Option<Seq>) -> Option<Wanted> {
        let index = self.entry_at(short(seq))?;
        let entry = &self.entries[index as usize];
        let until = at.map_or(NEVER - 1, short);
        let alive = |entry: &Entry| match at {
            None => entry.from != NEVER && entry.until == NEVER,
            Some(_) => entry.from <= until && until < entry.until,
        };
        let group = self.group_of.get(&index).map(|group| &self.groups[*group as usize].members);
        let newest = group.and_then(|group| group.iter().rev().find(|one| alive(&self.entries[**one as usize])));
        let newest = newest.map_or(entry.seq, |one| self.entries[*one as usize].seq);
        let source = group.and_then(|group| group.iter().find(|one| alive(&self.entries[**one as usize])));
        let source = source.map_or(entry, |one| &self.entries[*one as usize]);
        let mut events = vec![entry.seq, newest, source.seq];
        let started = self.attempts.get(source.attempt as usize).map(|attempt| attempt.started);
        events.extend(started.filter(|seq| *seq != NEVER));
        if entry.from != NEVER {
            events.push(entry.from);
        }
        let attempt = self.attempts.get(entry.attempt as usize);
        if let Some(attempt) = attempt {
            events.extend([attempt.started].into_iter().filter(|seq| *seq != NEVER));
            if entry.flags & IS_OUTPUT != 0 {
                events.extend([attempt.input].into_iter().filter(|seq| *seq != NEVER));
                events.extend(self.models.get(&entry.attempt).into_iter().flatten().filter(|one| **one <= entry.seq));
            }
        }
        events.extend(self.replaced.get(&index).into_iter().flatten().filter(|change| **change <= until));
        let growth = self.growing.get(&index);
        let (mut text_bytes, mut status, mut is_growing) = (None, None, false);
        let is_over = attempt.is_some_and(|attempt| attempt.over <= until);
        if let Some(growth) = growth {
            events.extend(growth.patches.iter().filter(|patch| **patch <= until));
            let known = &growth.pieces[..growth.pieces.partition_point(|(piece, _)| *piece <= until)];
            let known = &known[known.partition_point(|(piece, _)| *piece < newest)..];
            let is_cut = is_over || (at.is_none() && self.mark(entry).has_ended(self.is_live));
            let is_open = newest == entry.seq && growth.done.is_none_or(|done| done > until);
            is_growing = is_open && !is_cut;
            status = (is_open && is_cut).then_some(ItemStatus::Incomplete);
            text_bytes = known.last().map(|(_, bytes)| *bytes);
            events.extend(shown_pieces(known, is_growing));
        }
        events.sort_unstable();
        events.dedup();
        Some(Wanted {
            seq,
            newest: newest.into(),
            from: source.seq.into(),
            events: events.into_iter().map(Seq::from).collect(),
            text_bytes,
            is_growing,
            status,
            continued: self.continued.get(&index).cloned(),
            before: self.before(index as usize)[0],
            is_over,
        })
    }
}
