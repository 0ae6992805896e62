//! Rows of lists as people tell them apart: a session or a request with the first words of what it was asked.
//!
//! Only lists in the window read them; what a session or a request is, `SessionRow` and `RequestRow` say.

use serde::Serialize;

use super::{ErrorInfo, RequestRow, SessionRow};

/// A session of a list, with what its newest request was about.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    /// Its row.
    #[serde(flatten)]
    pub row: SessionRow,
    /// Its newest request.
    pub last_request: String,
    /// The action of its newest request.
    pub last_action: String,
    /// How long its newest request took, in milliseconds; absent while it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    /// What failed its newest request, without the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorInfo>,
    /// The first words of what its newest request was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A request of a list.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ListedRequest {
    /// Its row.
    #[serde(flatten)]
    pub row: RequestRow,
    /// The first words of what it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// When it had its newest event, in milliseconds since the epoch.
    pub changed_at: i64,
}
