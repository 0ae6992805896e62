//! How much of a session its item views keep, as a flow declares it (SEMANTICS §7.8).

use serde::{Deserialize, Serialize};

/// `session.retention`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// At most so many items, transient ones not counted. The newest request stays however many it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Only requests that ended within so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<i64>,
}
