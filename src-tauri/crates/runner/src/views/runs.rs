//! Rows of lists of runs, what runs come to, and what people add to requests.

use serde::Serialize;
use store::Subject;

use super::RequestRow;

/// A request of a list of runs.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RunRow {
    /// Its row.
    #[serde(flatten)]
    pub row: RequestRow,
    /// What a person named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What a person noted about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Input and output tokens in calls that it paid for itself: without those that a fork has in common
    /// with its origin, and answers that another sample of an experiment paid for.
    pub tokens: u64,
    /// What these calls cost in US dollars, as far as `prices` of `flowglass.json` knows the models; absent if it knows
    /// none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The first words of what it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// What runs come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RunsSummary {
    /// How many there are, without samples of experiments that are left out.
    pub runs: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many samples of experiments fit, where they are left out: no other figure counts them.
    pub samples: u64,
    /// Tokens that these runs spent. Calls that forks share with their origins, or samples with each other, count once.
    pub tokens: u64,
    /// The same in US dollars, where models have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// By the day on which they began, oldest first; days without runs are left out.
    pub days: Vec<RunDay>,
}

/// What the runs of one day come to.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RunDay {
    /// The day here, like `2026-11-20`.
    pub day: String,
    /// How many began, without samples of experiments that are left out.
    pub runs: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens that these runs spent.
    pub tokens: u64,
    /// What these runs spent in US dollars, where models have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The tags, the note and the title of a request or a session.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Tags {
    /// The request, if they are of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The session, if they are of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What a person noted about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What a person named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl Tags {
    pub(crate) fn new(subject: Subject, id: &str, found: store::Annotated) -> Tags {
        let id = |wanted: Subject| (subject == wanted).then(|| id.to_owned());
        let (request_id, session_id) = (id(Subject::Request), id(Subject::Session));
        Tags { request_id, session_id, tags: found.tags, note: found.note, title: found.title }
    }
}

/// A tag, and how many requests have it.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// How many.
    pub requests: u64,
}
