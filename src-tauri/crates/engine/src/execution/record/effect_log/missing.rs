//! What ends a replay: an effect that it asked for and that was not recorded.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::event::Seq;
use crate::views::diff::diff;

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

/// Returns the fields of two requests that differ, by path.
pub(super) fn differing(recorded: &Value, asked: &Value) -> (Value, Value) {
    let (mut was, mut is) = (Map::new(), Map::new());
    for difference in diff(Some(recorded), Some(asked)) {
        was.extend(difference.old.map(|old| (difference.path.clone(), old)));
        is.extend(difference.new.map(|new| (difference.path, new)));
    }
    (was.into(), is.into())
}
