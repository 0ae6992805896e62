//! The recorded writes to shared states: those that count when the log has been read, and those that a resume has not
//! applied yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Attempt, PendingWrite, ReplayCache, SharedStateOwner, SharedWrite};
use crate::model::event::Seq;
use crate::model::path::background_parent;
use crate::model::state::State;

/// The writes to shared states of the attempts that ended, while the log is read.
#[derive(Default)]
pub(super) struct RecordedWrites {
    /// By the path of the block that wrote them. They count if that attempt is still the recorded end of its path.
    settled: FxHashMap<Arc<str>, Vec<SharedWrite>>,
    /// Writes that count even if the attempt is discarded: those of callbacks that had returned, of blocks that ended
    /// inside a retried attempt, and edits of a fork.
    kept: BTreeMap<SharedStateOwner, Vec<SharedWrite>>,
}

impl RecordedWrites {
    /// Adds the writes of an attempt at a path that ended.
    pub(super) fn settle(&mut self, path: &Arc<str>, writes: impl Iterator<Item = SharedWrite>) {
        let mut writes = writes.peekable();
        if writes.peek().is_some() {
            self.settled.entry(path.clone()).or_default().extend(writes);
        }
    }

    /// Adds writes that count even if their attempt is discarded.
    pub(super) fn keep(&mut self, writes: impl IntoIterator<Item = SharedWrite>) {
        for write in writes {
            self.kept.entry(write.owner.clone()).or_default().push(write);
        }
    }

    /// Discards an attempt at a path. `inside` are the paths inside it. The writes that blocks there made to a state
    /// outside the path are kept if the block has ended.
    pub(super) fn discard_below(&mut self, path: &str, inside: &[Arc<str>], has_ended_in: impl Fn(&Attempt) -> bool) {
        for other in inside {
            let ended = self.settled.remove(other).into_iter().flatten();
            self.keep(ended.filter(|write| has_ended_in(&write.by)));
        }
        SharedStateOwner::remove_at_and_inside(&mut self.kept, path);
    }

    /// Returns the writes that count, in the order of the log.
    pub(super) fn in_order(self, has_ended_in: impl Fn(&Attempt) -> bool) -> Vec<SharedWrite> {
        let settled = self.settled.into_values().flatten().filter(|write| has_ended_in(&write.by));
        let mut all: Vec<SharedWrite> = self.kept.into_values().flatten().chain(settled).collect();
        all.sort_by_key(|write| write.write.seq);
        all
    }
}

impl ReplayCache {
    /// Returns the last end of a chain's background work.
    pub(crate) fn last_background_end(&self, chain: &str) -> Option<Seq> {
        let of_chain = |path: &Arc<str>| background_parent(path) == Some(chain) && !self.is_discarded(path, false);
        self.finished.iter().filter(|(path, _)| of_chain(path)).map(|(_, done)| done.ended).max()
    }

    /// Returns how many recorded writes to a shared state are still to be applied, up to event `until`.
    pub(crate) fn count_changes(&self, shared: &SharedStateOwner, until: Seq) -> usize {
        let pending = self.pending.borrow();
        pending.get(shared).map_or(0, |changes| changes.iter().take_while(|write| write.seq <= until).count())
    }

    /// Returns a shared state with all recorded writes that are still to be applied.
    pub(crate) fn with_pending(&self, shared: &SharedStateOwner, mut state: State) -> State {
        for write in self.pending.borrow().get(shared).into_iter().flatten() {
            write.operation.apply(&mut state);
        }
        state
    }

    /// Takes the next recorded write to a shared state, up to event `until`.
    pub(crate) fn next_change(&self, shared: &SharedStateOwner, until: Seq) -> Option<PendingWrite> {
        self.pending.borrow_mut().get_mut(shared)?.pop_front_if(|write| write.seq <= until)
    }
}
