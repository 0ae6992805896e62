//! Where a value or a text of a recorded run comes from.

use serde::{Deserialize, Serialize};

use super::Json;

/// What to explain: a value by its place, or a text by its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhyQuery {
    /// A block, as `PATH[#ATTEMPT]`, or the number of an event.
    pub at: String,
    /// A JSON pointer, alone or after `input:`, `output:`, `error:`, `prompt:`, `prompt#N:` or `state:SCOPE`; or
    /// `SCOPE.PATH`.
    pub value: Option<String>,
    /// A text in a prompt, the input, the output or the error.
    pub text: Option<String>,
    /// At most so many edges.
    pub limit: Option<u32>,
}

/// How a value came to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum WhyKind {
    /// It entered the log here, from outside.
    Recorded,
    /// An earlier recorded value has the same content.
    Copied,
    /// Code of a block made it. If that is not proven, the code may have copied it.
    Computed,
    /// A block wrote it to a state.
    Written,
}

/// What of a request has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum WhyPlace {
    /// The input that a request was asked with.
    RequestInput,
    /// The input of a block.
    Input,
    /// The output of a block, or of the request.
    Output,
    /// The error that a block or the request failed with.
    Error,
    /// The request of a model call.
    Prompt,
    /// The request of another effect.
    Asked,
    /// The answer of a model.
    ModelAnswer,
    /// The result of a fetch, of `ctx.runOnce`, of a clock or of chance.
    Reply,
    /// The answer of a person.
    Person,
    /// A state.
    State,
    /// An item.
    Item,
    /// The return value of a function of a chain.
    Returned,
    /// An edit of a fork.
    Edit,
    /// An entry of the session's journal.
    Journal,
}

impl WhyPlace {
    /// The name as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            WhyPlace::RequestInput => "input of the request",
            WhyPlace::Input => "input",
            WhyPlace::Output => "output",
            WhyPlace::Error => "error",
            WhyPlace::Prompt => "prompt",
            WhyPlace::Asked => "request of an effect",
            WhyPlace::ModelAnswer => "answer of a model",
            WhyPlace::Reply => "reply",
            WhyPlace::Person => "answer of a person",
            WhyPlace::State => "state",
            WhyPlace::Item => "item",
            WhyPlace::Returned => "return value of a function",
            WhyPlace::Edit => "edit of a fork",
            WhyPlace::Journal => "journal entry",
        }
    }
}

/// A recorded value, a part of one, or a span of a text in one.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhySpot {
    /// What has it.
    #[serde(rename = "where")]
    pub place: WhyPlace,
    /// The request's id.
    pub request_id: String,
    /// The path of the block; absent for the request itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which execution of the path, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The event that recorded it.
    pub seq: u64,
    /// Of a state: `session`, `sequencer[root/step:plan]`, `session/notes` of a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// JSON pointer in the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Of a span of a text: its first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Of a span of a text: the byte after its last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Whether the bytes are those of the value as compact JSON, not of a text in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_json: bool,
}

/// The block whose code made a value or wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhyBy {
    /// Its path.
    pub path: String,
    /// The file of its definition, or of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// One step back from a value to its cause.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhyEdge {
    /// How the value came to its place.
    pub kind: WhyKind,
    /// How many steps this is from the question.
    pub depth: u32,
    /// The place.
    #[serde(rename = "in")]
    pub spot: WhySpot,
    /// The earlier value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<WhySpot>,
    /// Whether it is certain. If not, the two have the same content and the log does not say which way it went, or the
    /// value is too short to know whether code computed it.
    pub proven: bool,
    /// The block whose code made it or wrote it; of a copied value the block whose code has the same text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<WhyBy>,
    /// Of a write: `patch`, `set`, `increment`, `push`, `delete_key`, `atomic`, `default`, `stored`, or `fork` of a
    /// state that a fork began with. Of another edge: `step_before`, `block_around`, `last_step`, `branch`, `entry`,
    /// `same_field`, `same_value`, `state_seen`, `history`, `answer`, `text_of_code`, `or_default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The text of a span, cut if it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of a write: the value before, if it is not large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Json>,
    /// Of a write: the value after, if it is not large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Json>,
    /// How many other earlier values have the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<u64>,
    /// Those of them that may be the cause as well, the likeliest first; not all if there are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<WhySpot>,
    /// Of a computed value: what the block had to compute it from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<WhySpot>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhyAsked {
    /// What has the value.
    #[serde(rename = "in")]
    pub place: WhyPlace,
    /// The place of the value there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// The request's id.
    pub request_id: String,
    /// The block and its execution, `PATH#ATTEMPT`, or the event.
    pub at: String,
    /// The event that recorded the value.
    pub seq: u64,
    /// What was asked for.
    pub asked: WhyAsked,
    /// The answer in a sentence or two.
    pub answer: String,
    /// The value, if it is not large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// From the value back to its causes, each chain to its end.
    pub edges: Vec<WhyEdge>,
    /// Whether the edges were cut at the limit.
    pub truncated: bool,
}
