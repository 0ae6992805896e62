//! How often the tries of a block are repeated, and after which pause (SEMANTICS §5.2). Must not run anything.

use crate::model::error::FlowError;
use crate::model::flow::Retry;

/// Returns how many tries of a block with this `retry` had failed with these errors, in order, since its caller ran it
/// last: an error that its own settings do not try again was retried by the caller, as the settings of tools do.
pub(crate) fn failed_tries(retry: Option<&Retry>, errors: &[FlowError]) -> u32 {
    errors.iter().fold(0, |tries, error| if should_retry(retry, error, tries) { tries + 1 } else { 0 })
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
