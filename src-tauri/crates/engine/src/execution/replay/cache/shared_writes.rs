//! The recorded writes to shared states that a resume has not applied yet.

use std::sync::Arc;

use super::{ReplayCache, SharedStateOwner};
use crate::model::event::Seq;
use crate::model::operation::Operation;
use crate::model::path::background_parent;

impl ReplayCache {
    /// Returns the last end of a chain's background work.
    pub(crate) fn last_background_end(&self, chain: &str) -> Option<Seq> {
        let of_chain = |path: &Arc<str>| background_parent(path) == Some(chain) && !self.is_discarded(path, false);
        self.finished.iter().filter(|(path, _)| of_chain(path)).map(|(_, done)| done.ended).max()
    }

    /// Returns how many recorded writes to a shared state are still to be applied, up to event `until`.
    pub(crate) fn count_changes(&self, shared: &SharedStateOwner, until: Seq) -> usize {
        let pending = self.pending.borrow();
        pending.get(shared).map_or(0, |changes| changes.iter().take_while(|(seq, ..)| *seq <= until).count())
    }

    /// Takes the next recorded write to a shared state, up to event `until`.
    pub(crate) fn next_change(&self, shared: &SharedStateOwner, until: Seq) -> Option<Operation> {
        let mut pending = self.pending.borrow_mut();
        let changes = pending.get_mut(shared)?;
        changes.pop_front_if(|(seq, ..)| *seq <= until).map(|(.., change)| change)
    }
}
