//! Questions as the window and the command line show them.

use engine::suspension::{Reply, SuspensionStatus};
use serde::Serialize;

use super::Json;

/// Something a request asked of somebody outside.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SuspensionRow {
    /// Its id.
    pub id: String,
    /// Whose.
    pub request_id: String,
    /// In which session.
    pub session_id: String,
    /// The path of the block that asked.
    pub path: String,
    /// The event.
    pub seq: u64,
    /// Why the run waits.
    pub reason: String,
    /// What the person who answers should read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What they need to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_schema: Option<Json>,
    /// How a client of the author's own may show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render: Option<Json>,
    /// Which answers it takes.
    pub allow: Vec<Reply>,
    /// How it stands.
    pub status: SuspensionStatus,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<i64>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// With what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_data: Option<Json>,
}
