//! Discarded attempts: their recorded results are no longer used.
//!
//! The reader discards attempts that the log says were retried, and a running request discards them when it retries, so
//! that the next resume sees the same. Must not discard answers to suspensions.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::{RecordedBlock, ReplayCache, SharedStateOwner};
use crate::execution::record::prior_attempt::AttemptEffects;
use crate::model::path::{range_inside, with_ancestors};
use crate::model::resource::due::DueReaction;

/// The reactions that were due after a block (`None`) or a callback of it, with the attempt, by the block's path.
pub(super) type Due = HashMap<Arc<str>, HashMap<Option<String>, (u32, Vec<DueReaction>)>>;

impl ReplayCache {
    /// Discards the attempt at a path that is about to be retried: the recorded results of the blocks inside it, and of
    /// its own callbacks and effects, are no longer used. Reading the log later has the same effect.
    ///
    /// Their writes to state outside the path are kept (SEMANTICS §5.2); their own state starts anew.
    pub(crate) fn discard_attempt(&self, path: &Arc<str>) {
        self.discarded.borrow_mut().insert(path.clone());
        SharedStateOwner::remove_at_and_inside(&mut self.pending.borrow_mut(), path);
    }

    /// Returns the recorded end of a block, unless it was discarded.
    pub(super) fn ended(&self, path: &str) -> Option<&RecordedBlock> {
        self.finished.get(path).filter(|_| !self.is_discarded(path, false))
    }

    /// Returns the exchanges that functions of a block made before the request was resumed.
    pub(crate) fn exchanges_of(&self, path: &str) -> Option<Rc<AttemptEffects>> {
        self.exchanges.of(path).filter(|_| !self.is_discarded(path, true))
    }

    /// Returns how many of a block's model calls are answered from the log.
    pub(crate) fn count_calls(&self, path: &str) -> usize {
        self.calls.get(path).filter(|_| !self.is_discarded(path, true)).map_or(0, super::Numbered::len)
    }

    /// Returns whether the log has an end of a block that a resume takes.
    pub(crate) fn has_ended(&self, path: &str) -> bool {
        self.ended(path).is_some()
    }

    pub(super) fn is_discarded(&self, path: &str, or_at: bool) -> bool {
        let discarded = self.discarded.borrow();
        !discarded.is_empty() && with_ancestors(path).skip(usize::from(!or_at)).any(|above| discarded.contains(above))
    }

    /// Removes the results of a path whose attempt was retried. `inside` are the paths inside it: with a scan of
    /// everything recorded, a log with many retries would take time that grows with the square of their number.
    pub(super) fn discard_below(&mut self, path: &Arc<str>, inside: &[Arc<str>]) {
        for other in inside {
            self.finished.remove(other);
            self.failed_tries.forget(other);
        }
        for other in inside.iter().chain([path]) {
            self.functions.remove(other);
            self.reported_failures.remove(other);
            self.routes.remove(other);
            self.due.remove(other);
            self.calls.remove(other);
            self.exchanges.forget(other);
            self.suspended.remove(other);
            self.waiting.remove(other);
            self.unfinished.remove(other);
            self.pauses.forget(other);
        }
    }
}

impl SharedStateOwner {
    /// Removes what belongs to the state of the block at a path, and of the blocks inside it.
    pub(super) fn remove_at_and_inside<T>(map: &mut BTreeMap<SharedStateOwner, T>, path: &str) {
        map.remove(&SharedStateOwner::Of(path.to_owned()));
        let inside = range_inside(path);
        let inside = SharedStateOwner::Of(inside.start)..SharedStateOwner::Of(inside.end);
        map.extract_if(inside, |_, _| true).for_each(drop);
    }
}

#[cfg(test)]
mod tests;
