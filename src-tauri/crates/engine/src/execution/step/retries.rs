//! Whether a failed block is tried again (SEMANTICS §5.2). Must not run anything.

use crate::model::error::FlowError;
use crate::model::flow::Retry;

/// Returns how many tries of a block with this `retry` failed since its caller last ran it. `errors` are those of all
/// its failed tries, in order. An error that `retry` does not retry was retried by the caller, as `tools` settings do.
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
