//! How large a database is.

use serde::Serialize;

/// Sizes and counts of the database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The file with its write-ahead log.
    pub bytes: u64,
    /// Events of all requests.
    pub events: u64,
    /// Items that are kept; transient ones are not counted.
    pub items: u64,
    /// Sessions.
    pub sessions: u64,
    /// Requests, with the samples of experiments.
    pub requests: u64,
    /// How many of the requests are samples of experiments, which lists leave out.
    pub samples: u64,
    /// JSON bytes that were put into the log.
    pub payload_bytes: u64,
    /// The same without repeats.
    pub unique_payload_bytes: u64,
}
