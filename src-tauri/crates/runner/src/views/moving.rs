//! What export and import answer.

use serde::Serialize;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// Where.
    pub file: String,
    /// `all`, `client` or `history`.
    pub view: String,
    /// Whose, oldest first.
    pub requests: Vec<String>,
    /// How many events; none for an audience.
    pub events: u64,
    /// How many items; none in a full export, where they are read from events.
    pub items: u64,
    /// The file's size.
    pub bytes: u64,
}

/// A file that was read, or that could be.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// False when all of it is here already, so that there is nothing to change.
    pub imported: bool,
    /// Which sessions it brings.
    pub sessions: Vec<String>,
    /// Which requests.
    pub requests: Vec<String>,
    /// How many events.
    pub events: u64,
    /// Of a file of OpenTelemetry spans: how many can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<u64>,
    /// How many cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
    /// Why the first of those cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_rejected: Option<String>,
    /// How many log records and metrics beside them were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
}

/// A flow that a foreign request was made into.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct MadeRunnable {
    /// Its kind.
    pub flow: String,
    /// What was written: the flow, its mock script, and the input if the request has one.
    pub files: Vec<String>,
    /// How many model calls it repeats.
    pub model_calls: u64,
    /// The tools that it has: those that models were offered or called, with the answers that are recorded.
    pub tools: Vec<String>,
    /// How its run with the mock script differs from the trace, as sentences; usually none.
    pub differences: Vec<String>,
}

/// A trace that was exported.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ExportedTrace {
    /// Whose.
    pub request: String,
    /// The collector's address, or the file.
    pub to: String,
    /// How many spans it has: the request, its blocks, and their calls of models and of the network.
    pub spans: u64,
}
