//! What is found in logs: who wrote a value, and where a text stands.

use engine::views::search::Where;
use serde::Serialize;

use super::{Json, ListedRequest};

/// One operation that changed a place of a scope's state.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WriteRow {
    /// Its event.
    pub seq: u64,
    /// The event with which it took effect: its own, or the one that committed it; of an edit the fork's first own one.
    pub committed: u64,
    /// The path of the block that wrote it; null for the request itself, and for an edit.
    pub by: Option<String>,
    /// Of the state of Calls: the instance that it was written for; absent if for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// `patch`, `set`, `increment`, `push`, `delete_key` or `atomic`; `edit` if a fork was begun with it.
    pub operation: String,
    /// The value before; null where there was none.
    pub old: Option<Json>,
    /// The value after; null where there is none.
    pub new: Option<Json>,
    /// When, in milliseconds since the epoch.
    pub at: i64,
}

impl WriteRow {
    /// The operation of an edit of a fork.
    pub(crate) const EDIT: &str = "edit";

    /// Whether no block wrote it: a fork was begun with it.
    pub fn is_edit(&self) -> bool {
        self.operation == WriteRow::EDIT
    }
}

/// An event that holds a text.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct HitRow {
    /// Its request.
    pub request_id: String,
    /// Its number there.
    pub seq: u64,
    /// The path of its block; null for the request itself.
    pub path: Option<String>,
    /// In what of it.
    #[serde(rename = "where")]
    pub place: Where,
    /// The text around.
    pub snippet: String,
}

/// Some of the places of a text, and the requests that they are in.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct SearchPage {
    /// The places.
    pub hits: Vec<HitRow>,
    /// Their requests, each once.
    pub requests: Vec<ListedRequest>,
    /// How many samples of experiments were not searched.
    pub samples: u32,
}

/// A write of another request to a shared record.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EarlierWrite {
    /// The request that wrote.
    pub request_id: String,
    /// Its session.
    pub session_id: String,
    /// Its flow.
    pub flow: String,
    /// Its action.
    pub action: String,
    /// What it wrote.
    pub write: WriteRow,
}
