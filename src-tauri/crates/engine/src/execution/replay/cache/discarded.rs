//! Discarded attempts: their recorded results are no longer used.
//!
//! The reader discards attempts that the log says were retried, and a running request discards them when it retries, so
//! that the next resume sees the same. Must not discard answers to suspensions.

use std::sync::Arc;

use super::{RecordedBlock, ReplayCache, SharedStateOwner};
use crate::model::path::{is_at_or_inside, is_inside, with_ancestors};

impl ReplayCache {
    /// Discards the attempt at a path that is about to be retried: the recorded results of the blocks inside it, and of
    /// its own callbacks and effects, are no longer used. Reading the log later has the same effect.
    ///
    /// Their writes to state outside the path are kept (SEMANTICS §5.2); their own state starts anew.
    pub(crate) fn discard_attempt(&self, path: &Arc<str>) {
        self.discarded.borrow_mut().insert(path.clone());
        self.pending.borrow_mut().retain(|shared, _| !shared.is_inside(path));
    }

    /// Returns the recorded end of a block, unless it was discarded.
    pub(super) fn ended(&self, path: &str) -> Option<&RecordedBlock> {
        self.finished.get(path).filter(|_| !self.is_discarded(path, false))
    }

    pub(super) fn is_discarded(&self, path: &str, or_at: bool) -> bool {
        let discarded = self.discarded.borrow();
        !discarded.is_empty() && with_ancestors(path).skip(usize::from(!or_at)).any(|above| discarded.contains(above))
    }

    /// Removes the results inside a path whose attempt was retried.
    pub(super) fn discard_below(&mut self, path: &str) {
        self.finished.retain(|other, _| !is_inside(other, path));
        self.functions.retain(|other, _| !is_at_or_inside(other, path));
        self.reported_failures.retain(|other| !is_at_or_inside(other, path));
        self.routes.retain(|other, _| !is_at_or_inside(other, path));
        self.due.retain(|(other, _), _| !is_at_or_inside(other, path));
        self.calls.retain(|other, _| !is_at_or_inside(other, path));
        self.suspended.retain(|other| !is_at_or_inside(other, path));
        self.pauses.forget(|other| is_at_or_inside(other, path));
    }
}

impl SharedStateOwner {
    /// Returns whether it is the state of the block at a path, or of one inside it.
    pub(super) fn is_inside(&self, path: &str) -> bool {
        matches!(self, SharedStateOwner::Of(owner) if is_at_or_inside(owner, path))
    }
}
