//! The order of the Calls of a solution: a Call that reads a place waits for those that write it.
//!
//! Pure.

use std::collections::BTreeSet;

use super::plan::Checked;

/// For each Call the Calls that it waits for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Order {
    waits: Vec<BTreeSet<usize>>,
}

impl Order {
    /// Of two Calls that write one place the later one waits, so that it is decided which of them is first.
    pub(super) fn of(calls: &[Option<Checked>]) -> Order {
        let mut waits = vec![BTreeSet::new(); calls.len()];
        let writers: Vec<(usize, &Checked)> = calls
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((at, call.as_ref().filter(|call| !call.writes().is_empty())?)))
            .collect();
        for (at, call) in calls.iter().enumerate().filter_map(|(at, call)| Some((at, call.as_ref()?))) {
            if call.references.is_empty() {
                continue;
            }
            for (by, writer) in &writers {
                // What is there for all is seen by every instance.
                let reaches = writer.instance.is_none() || writer.instance == call.instance;
                if reaches && call.reads().any(|read| writer.writes().iter().any(|written| read.overlaps(written))) {
                    waits[at].insert(*by);
                }
            }
        }
        let mut order = Order { waits };
        for (index, (at, later)) in writers.iter().enumerate() {
            for (by, earlier) in &writers[..index] {
                let same = earlier.instance == later.instance
                    && later.writes().iter().any(|one| earlier.writes().iter().any(|other| one.overlaps(other)));
                if same && !order.ancestors(*by).contains(at) {
                    order.waits[*at].insert(*by);
                }
            }
        }
        order
    }

    /// Returns the Calls that it waits for itself.
    pub(super) fn waits_for(&self, at: usize) -> &BTreeSet<usize> {
        &self.waits[at]
    }

    /// Returns all Calls that have to end before it, in the order of the solution. In a cycle it is one of its own.
    pub(super) fn ancestors(&self, at: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let mut next: Vec<usize> = self.waits[at].iter().copied().collect();
        while let Some(one) = next.pop() {
            if all.insert(one) {
                next.extend(&self.waits[one]);
            }
        }
        all
    }

    /// Returns whether it waits for itself.
    pub(super) fn is_in_cycle(&self, at: usize) -> bool {
        !self.waits[at].is_empty() && self.ancestors(at).contains(&at)
    }
}
