//! Tries that failed and were followed by another: a resume goes on with the try that was interrupted, and with what is
//! left of the budget.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ReplayCache;
use crate::model::error::FlowError;

/// The errors of the failed tries of each block that has not ended since, in order.
#[derive(Default)]
pub(super) struct FailedTries(FxHashMap<Arc<str>, Vec<FlowError>>);

impl FailedTries {
    /// Adds a try that another one followed.
    pub(super) fn add(&mut self, path: &Arc<str>, error: &FlowError) {
        self.0.entry(path.clone()).or_default().push(error.clone());
    }

    /// Removes the tries of a block that has ended, or whose container is tried again: if the block runs again, it has
    /// its whole budget.
    pub(super) fn forget(&mut self, path: &str) {
        self.0.remove(path);
    }
}

impl ReplayCache {
    /// Returns the errors of the tries of a block that had failed when the request was interrupted, in order.
    pub(crate) fn failed_tries(&self, path: &str) -> &[FlowError] {
        let tries = self.failed_tries.0.get(path).filter(|_| !self.is_discarded(path, true));
        tries.map_or(&[], Vec::as_slice)
    }
}
