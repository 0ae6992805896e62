//! What was taken out of the database.

use serde::Serialize;

/// A session that is gone.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct DeletedRow {
    /// Its id.
    pub session_id: String,
    /// How many requests it had.
    pub requests: u64,
    /// How many events they had.
    pub events: u64,
}

/// The size of the database before and after it was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct CompactedRow {
    /// In bytes.
    pub before: u64,
    /// In bytes.
    pub after: u64,
}
