//! How many earlier items the views of a session show, as declared by a flow (SEMANTICS §7.8).

use serde::{Deserialize, Serialize};

/// `session.retention`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// The maximum number of items without transient ones. The newest request is always shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Only requests that ended at most this many milliseconds ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<i64>,
}
