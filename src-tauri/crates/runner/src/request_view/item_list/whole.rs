//! Everything that is or was an item at any instant, for exported copies.

use std::collections::{BTreeMap, BTreeSet};

use engine::event::Seq;

use super::{Entry, ItemList, NEVER};

/// A range of events in which an entry is an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Its first event.
    pub(crate) from: Seq,
    /// The event at which it stops being an item; `None` if it is one now.
    pub(crate) until: Option<Seq>,
    /// Who sees it, as bits.
    pub(crate) audiences: u8,
}

/// An entry that is or was an item.
pub(crate) struct Standing {
    /// The event that added it.
    pub(crate) seq: Seq,
    /// The ranges in order; not empty.
    pub(crate) shown: Vec<Shown>,
    /// The events that changed its content while it was an item, except pieces of its text.
    pub(crate) changes: Vec<Seq>,
    /// Pieces of its text: the event, and the length of the text after it.
    pub(crate) pieces: Vec<(Seq, u64)>,
}

impl ItemList {
    /// All entries that are or were items, in order.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let mut shown: BTreeMap<u32, Vec<Shown>> = BTreeMap::new();
        for (at, entry) in (0..).zip(&self.entries) {
            if !self.group_of.contains_key(&at) && entry.from < entry.until {
                let (mut from, mut stretches) = (entry.from, Vec::new());
                for (gone, back) in self.gaps_of(at) {
                    stretches.push(stretch(from, *gone, entry.audiences));
                    from = *back;
                }
                stretches.push(stretch(from, entry.until, entry.audiences));
                shown.insert(at, stretches);
            }
        }
        for group in &self.groups {
            for (at, stretch) in self.of_group(&group.members) {
                let known = shown.entry(at).or_default();
                match known.last_mut() {
                    Some(last) if last.until == Some(stretch.from) && last.audiences == stretch.audiences => {
                        last.until = stretch.until;
                    }
                    _ => known.push(stretch),
                }
            }
        }
        shown.into_iter().map(|(at, shown)| self.standing(at, shown)).collect()
    }

    /// Entries with the same identity are shown as one, at the place of the first, to the audiences of the newest.
    fn of_group(&self, members: &[u32]) -> Vec<(u32, Shown)> {
        let mut turns: BTreeMap<u32, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        let entry = |at: usize| -> &Entry { &self.entries[members[at] as usize] };
        for at in (0..members.len()).filter(|at| entry(*at).from < entry(*at).until) {
            turns.entry(entry(at).from).or_default().0.push(at);
            turns.entry(entry(at).until).or_default().1.push(at);
        }
        let mut living: BTreeSet<usize> = BTreeSet::new();
        let mut found = Vec::new();
        let mut turns = turns.into_iter().peekable();
        while let Some((from, (come, gone))) = turns.next() {
            for at in &gone {
                living.remove(at);
            }
            living.extend(come);
            let until = turns.peek().map_or(NEVER, |(until, _)| *until);
            if let (Some(first), Some(newest)) = (members.first(), living.last())
                && from < until
            {
                found.push((*first, stretch(from, until, entry(*newest).audiences)));
            }
        }
        found
    }

    fn standing(&self, at: u32, shown: Vec<Shown>) -> Standing {
        let entry = &self.entries[at as usize];
        let mut changes: Vec<u32> = Vec::new();
        let mut pieces = Vec::new();
        if let Some(growth) = self.growing.get(&at) {
            pieces.extend(growth.pieces.iter().map(|(seq, bytes)| (Seq::from(*seq), *bytes)));
            changes.extend(growth.patches.iter().chain(&growth.done));
            changes.extend(self.attempts.get(entry.attempt as usize).map(|attempt| attempt.over));
        }
        changes.extend(self.replaced.get(&at).into_iter().flatten());
        if let Some(group) = self.group_of.get(&at) {
            let members = &self.groups[*group as usize].members;
            changes.extend(members.iter().flat_map(|one| {
                let Entry { from, until, .. } = self.entries[*one as usize];
                [from, until]
            }));
        }
        let is_inside =
            |seq: &Seq| shown.iter().any(|one| one.from < *seq && one.until.is_none_or(|until| *seq < until));
        let known = changes.into_iter().filter(|seq| *seq < NEVER - 1).map(Seq::from).filter(is_inside);
        let mut changes: Vec<Seq> = known.chain(shown.iter().map(|one| one.from)).collect();
        changes.sort_unstable();
        changes.dedup();
        Standing { seq: entry.seq.into(), shown, changes, pieces }
    }
}

fn stretch(from: u32, until: u32, audiences: u8) -> Shown {
    Shown { from: from.into(), until: Some(until).filter(|until| *until < NEVER - 1).map(Seq::from), audiences }
}
