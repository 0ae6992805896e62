//! What is found in logs: who wrote a value.

use serde::Serialize;

use super::Json;

/// One operation that changed a place of a scope's state.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WriteRow {
    /// Its event.
    pub seq: u64,
    /// The path of the block that wrote it; null for the request itself.
    pub by: Option<String>,
    /// `patch`, `set`, `increment`, `push`, `delete_key` or `atomic`.
    pub operation: String,
    /// The value before; null where there was none.
    pub old: Option<Json>,
    /// The value after; null where there is none.
    pub new: Option<Json>,
    /// When, in milliseconds since the epoch.
    pub at: i64,
}
