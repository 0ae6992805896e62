//! How often the tries of a block are repeated, and after which pause (SEMANTICS §5.2). Must not run anything.

use crate::model::error::FlowError;
use crate::model::flow::Retry;

/// Tries that had failed before the request was interrupted: of the execution that goes on now, by whose settings they
/// were retried.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FailedTries {
    /// By the block's own settings, since its caller ran it last.
    pub(crate) of_block: u32,
    /// By the caller, as the settings of tools do.
    pub(crate) of_caller: u32,
}

/// Returns by whose settings the tries of a block with this `retry` were retried that failed with these errors, in order.
pub(crate) fn failed_tries(retry: Option<&Retry>, errors: &[FlowError]) -> FailedTries {
    let mut tries = FailedTries::default();
    for error in errors {
        if should_retry(retry, error, tries.of_block) {
            tries.of_block += 1;
        } else {
            tries = FailedTries { of_block: 0, of_caller: tries.of_caller + 1 };
        }
    }
    tries
}

/// Returns whether a block with this `retry` that has failed is tried again.
pub(crate) fn should_retry(retry: Option<&Retry>, error: &FlowError, tries: u32) -> bool {
    let Some(retry) = retry else { return false };
    if tries + 1 >= retry.max_attempts() || error.is_uncatchable() {
        return false;
    }
    let is_flow_error = error.classes.iter().any(|class| class == "FlowError");
    (!is_flow_error || error.retryable) && retry.lists(error)
}
