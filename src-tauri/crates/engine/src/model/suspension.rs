//! Suspensions (questions to a person or system outside) and their answers, as types of the log and of `ctx.suspend`
//! (SEMANTICS §9).
//!
//! Only the types; `execution::ctx` asks, and `execution::request` parks and resumes.

pub mod answer_schema;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::operation::equal;

/// The kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Approval.
    Approve,
    /// Rejection: `SuspensionRejectedError` in the flow.
    Reject,
    /// Data.
    Submit,
    /// No answer to the question: `SUSPENSION_SKIPPED` in the flow.
    Skip,
}

impl Reply {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Reply::Approve => "approve",
            Reply::Reject => "reject",
            Reply::Submit => "submit",
            Reply::Skip => "skip",
        }
    }

    /// Returns the allowed answers of a suspension without `allow`: submitting data if it asks for input, approval or
    /// rejection otherwise, and all three if it has a schema.
    pub fn usual(reason: &str, has_schema: bool) -> Vec<Reply> {
        match (reason, has_schema) {
            ("human_input", _) => vec![Reply::Submit],
            (_, true) => vec![Reply::Approve, Reply::Reject, Reply::Submit],
            (_, false) => vec![Reply::Approve, Reply::Reject],
        }
    }
}

/// Whether and how a suspension was answered (SEMANTICS §9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionStatus {
    /// Not answered yet.
    Pending,
    /// Answered with an approval.
    Approved,
    /// Answered with a rejection.
    Rejected,
    /// Answered with data.
    Submitted,
    /// Skipped.
    Skipped,
    /// Not answered in time, or the request went on without the answer.
    Expired,
}

impl SuspensionStatus {
    /// Every status, in the order of lists for people.
    pub const ALL: [SuspensionStatus; 6] = [
        SuspensionStatus::Pending,
        SuspensionStatus::Approved,
        SuspensionStatus::Rejected,
        SuspensionStatus::Submitted,
        SuspensionStatus::Skipped,
        SuspensionStatus::Expired,
    ];

    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            SuspensionStatus::Pending => "pending",
            SuspensionStatus::Approved => "approved",
            SuspensionStatus::Rejected => "rejected",
            SuspensionStatus::Submitted => "submitted",
            SuspensionStatus::Skipped => "skipped",
            SuspensionStatus::Expired => "expired",
        }
    }
}

impl From<Reply> for SuspensionStatus {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Approve => SuspensionStatus::Approved,
            Reply::Reject => SuspensionStatus::Rejected,
            Reply::Submit => SuspensionStatus::Submitted,
            Reply::Skip => SuspensionStatus::Skipped,
        }
    }
}

/// Returns whether a text has the form of a suspension's id.
pub fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix("susp_").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A suspension, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuspensionRequest {
    /// Unique in the workspace.
    pub id: String,
    /// Its number among the suspensions of its block, or of the callback that suspended, from 0.
    pub ordinal: u32,
    /// The callback of its block that suspended; absent for the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,
    /// Why the run waits, for example `approval`.
    pub reason: String,
    /// The message for the person who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The data for the person who answers.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub data: Option<Value>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub resume_schema: Option<Value>,
    /// Rendering hints for the author's own client.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub render: Option<Value>,
    /// The allowed answers.
    pub allow: Vec<Reply>,
    /// When it expires, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// The fingerprint of the code that an approval runs, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Arc<str>>,
}

impl SuspensionRequest {
    /// Returns whether it has expired at time `now` (milliseconds since the epoch).
    pub fn is_over(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the parts that are shown to the person who answers, by the names that authors know, without the expiry
    /// and the rendering hints.
    fn shown(&self) -> [(&'static str, Option<Value>); 5] {
        // In a fixed order, because it is a set.
        let allow: Vec<Value> =
            ALL_REPLIES.iter().filter(|one| self.allow.contains(one)).map(|one| one.as_str().into()).collect();
        [
            ("reason", Some(self.reason.as_str().into())),
            ("message", self.message.as_deref().map(Value::from)),
            ("data", self.data.clone()),
            ("resumeSchema", self.resume_schema.clone()),
            ("allow", Some(allow.into())),
        ]
    }

    /// Returns these parts as an object, without fields for missing parts.
    pub fn question(&self) -> Value {
        self.shown().into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Describes the differences between the shown parts of two suspensions; `None` if an answer to one is valid for
    /// the other.
    pub fn differences(&self, other: &SuspensionRequest) -> Option<String> {
        let differing = |(was, is): (&Option<Value>, &Option<Value>)| match (was, is) {
            (Some(was), Some(is)) => !equal(was, is) && !equal(was, &answer_schema::as_before(is)),
            (was, is) => was.is_some() != is.is_some(),
        };
        let both = self.shown().into_iter().zip(other.shown());
        let differences = both
            .filter(|((_, was), (_, is))| differing((was, is)))
            .map(|((name, was), (_, is))| format!("{name} {} is now {}", clipped(was.as_ref()), clipped(is.as_ref())));
        let differences: Vec<String> = differences.collect();
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

const ALL_REPLIES: [Reply; 4] = [Reply::Approve, Reply::Reject, Reply::Submit, Reply::Skip];

/// The longest value that a drift event shows, in characters.
const LONGEST_SHOWN: usize = 160;

/// Returns a value as JSON, cut off if it is long.
fn clipped(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let json = value.to_string();
    match json.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &json[..end]),
        None => json,
    }
}

/// The answer to a suspension, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// The suspension's id.
    pub id: String,
    /// The kind of the answer; never `pending`.
    pub resolution: SuspensionStatus,
    /// The data of the answer. Null is also data.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::given")]
    pub data: Option<Value>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Resolved {
    /// Returns whether the person edited the call that they approved: an approval with data is an edited call.
    pub fn is_edit(&self) -> bool {
        let is_yes = matches!(self.resolution, SuspensionStatus::Approved | SuspensionStatus::Submitted);
        is_yes && self.data.as_ref().is_some_and(|data| !data.is_null())
    }
}

/// The reason of a question about the approval of a model's tool call.
pub const TOOL_APPROVAL: &str = "tool_approval";

/// The argument of `ctx.suspend`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuspendOptions {
    /// See [`SuspensionRequest::runs`]; only for questions of the engine itself.
    #[serde(skip)]
    pub runs: Option<Arc<str>>,
    /// See [`SuspensionRequest::reason`].
    pub reason: String,
    /// See [`SuspensionRequest::message`].
    #[serde(default)]
    pub message: Option<String>,
    /// See [`SuspensionRequest::data`].
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    pub data: Option<Value>,
    /// See [`SuspensionRequest::resume_schema`].
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    pub resume_schema: Option<Value>,
    /// Whether the author wrote the schema as JSON Schema. Then only this schema checks answers.
    #[serde(default)]
    pub is_json_schema: bool,
    /// The error of a pattern in it that is not a valid regular expression in the author's runtime.
    #[serde(default)]
    pub wrong_pattern: Option<String>,
    /// See [`SuspensionRequest::render`].
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    pub render: Option<Value>,
    /// See [`SuspensionRequest::allow`]; absent for [`Reply::usual`].
    #[serde(default)]
    pub allow: Option<Vec<Reply>>,
    /// The time until it expires, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}
