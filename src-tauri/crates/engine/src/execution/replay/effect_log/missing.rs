//! What ends a replay: an effect that it asked for and that was not recorded.

use std::sync::Arc;

use serde_json::Value;

use crate::model::event::Seq;

/// An effect that the recording does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The block that asked.
    pub path: Arc<str>,
    /// What it asked for: a description, or the fields of the request that differ.
    pub asked: Value,
    /// What was recorded instead, as far as it differs, and its event.
    pub recorded: Option<(Seq, Value)>,
}
