//! What a look at a whole database found.

use std::collections::BTreeMap;

use serde::Serialize;

/// Whether a database is what its events say.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct DataCheck {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Requests that were looked at.
    pub requests: u64,
    /// Their events.
    pub events: u64,
    /// What is wrong.
    pub problems: Vec<ProblemRow>,
    /// Kinds of events that this version does not know, and how many there are: no problem, but what they say was
    /// not looked at.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ProblemRow {
    /// The request it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The event it is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What is wrong, for people.
    pub what: String,
}

impl DataCheck {
    pub(crate) fn new(requests: u64, events: u64, problems: Vec<ProblemRow>) -> Self {
        DataCheck { ok: problems.is_empty(), requests, events, problems, unknown: BTreeMap::new() }
    }
}
