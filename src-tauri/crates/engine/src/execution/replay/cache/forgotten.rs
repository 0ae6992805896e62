//! Attempts that came to nothing: what the log has of them counts no more.
//!
//! The reader of a log forgets them as it goes, and a request that runs forgets them when it tries something again,
//! so that the next resume finds what this one found. Must not forget what somebody outside answered.

use std::sync::Arc;

use super::{Finished, ReplayCache, Shared};
use crate::model::path::{is_at_or_inside, is_inside, with_ancestors};

impl ReplayCache {
    /// From now on an attempt at this path has come to nothing, and what was in it is tried again: what the log
    /// has of the blocks inside, and of what this one did, counts no more. The next reading of the log finds it so.
    ///
    /// What they wrote to state around the path stays (SEMANTICS §5.2); state of their own begins anew with them.
    pub(crate) fn forget(&self, path: &Arc<str>) {
        self.forgotten.borrow_mut().insert(path.clone());
        self.pending.borrow_mut().retain(|shared, _| !shared.is_inside(path));
    }

    /// How a block ended, where that counts.
    pub(super) fn ended(&self, path: &str) -> Option<&Finished> {
        self.finished.get(path).filter(|_| !self.is_forgotten(path, false))
    }

    pub(super) fn is_forgotten(&self, path: &str, or_at: bool) -> bool {
        let forgotten = self.forgotten.borrow();
        !forgotten.is_empty() && with_ancestors(path).skip(usize::from(!or_at)).any(|above| forgotten.contains(above))
    }

    /// Forgets all that happened below a path: an attempt that was tried again came to nothing.
    pub(super) fn forget_below(&mut self, path: &str) {
        self.finished.retain(|other, _| !is_inside(other, path));
        self.functions.retain(|other, _| !is_at_or_inside(other, path));
        self.shown_failures.retain(|other| !is_at_or_inside(other, path));
        self.routes.retain(|other, _| !is_at_or_inside(other, path));
        self.calls.retain(|other, _| !is_at_or_inside(other, path));
        self.waited.retain(|other| !is_at_or_inside(other, path));
        self.pauses.forget(|other| is_at_or_inside(other, path));
    }
}

impl Shared {
    /// Whether it is state of the block at a path, or of one inside it.
    pub(super) fn is_inside(&self, path: &str) -> bool {
        matches!(self, Shared::Of(owner) if is_at_or_inside(owner, path))
    }
}
