//! Questions that a replay asks again.

use std::sync::Arc;

use crate::model::suspension::SuspensionRequest;

/// A question that a replay asked.
#[derive(Clone, Debug)]
pub struct ReplayedQuestion {
    /// The block that asked.
    pub path: Arc<str>,
    /// Which attempt of the block asked the recorded question: an answer may count for a later try.
    pub place: u32,
    /// What it asked.
    pub asking: SuspensionRequest,
    /// Whether the log has the answer.
    pub is_answered: bool,
}
