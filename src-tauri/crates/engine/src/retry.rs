//! `retry` of a block: after which failures it is tried again, and when.
//!
//! What is beyond the flow (an abort, a question, drift) is no failure of a try. Must not run anything.

use crate::error::FlowError;
use crate::flow::Block;

/// Whether a block is tried again after a failure.
pub(crate) fn is_due(block: &Block, error: &FlowError, tries: u32) -> bool {
    let Some(retry) = &block.retry else { return false };
    if tries + 1 >= retry.max_attempts || error.is_beyond_the_flow() {
        return false;
    }
    let is_flow_error = error.classes.iter().any(|class| class == "FlowError");
    if is_flow_error && !error.retryable {
        return false;
    }
    retry.retryable_errors.is_empty() || error.classes.iter().any(|class| retry.retryable_errors.contains(class))
}

/// How long it rests before that, in milliseconds.
pub(crate) fn pause_before(block: &Block, tries: u32) -> u64 {
    block
        .retry
        .as_ref()
        .map_or(0, |retry| retry.base_delay_ms.saturating_mul(1 << tries.min(20)).min(retry.max_delay_ms))
}
