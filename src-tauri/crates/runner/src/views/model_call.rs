//! What a block asked a model, and what came of it.

use serde::Serialize;
use serde_json::Value;

use super::{EffectRow, ErrorInfo, Json};

/// One call of a model. Its messages are `request.messages`, its answer is `result`.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelCallRow {
    /// The call as an effect of its block.
    #[serde(flatten)]
    pub effect: EffectRow,
    /// The model as the flow names it.
    pub model: String,
    /// The model that answered, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// What else was asked for: `maxTokens`, `providerOptions`, …
    pub parameters: Json,
    /// Where each of `request.messages` comes from.
    pub sources: Vec<MessageSource>,
    /// The tools that the model asked for, with what came of them.
    pub tools: Vec<ModelToolRow>,
    /// The answer as it came, where it was shown while it came.
    pub streamed: Vec<StreamedPiece>,
    /// Tokens, where the provider told them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<ModelTokens>,
    /// US dollars, where `prices` of `flowglass.json` has the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Milliseconds until the first piece of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<i64>,
    /// Why the model stopped: `stop`, `length`, `tool-calls`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The calls for the same answer that failed before.
    pub retries: Vec<ModelRetry>,
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct ModelTokens {
    /// What the model was told.
    pub input: u64,
    /// What the model said.
    pub output: u64,
    /// What of the input was in the provider's cache.
    pub cached: u64,
}

/// Where a message comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(tag = "from", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MessageSource {
    /// The block's `prompt`, with the tagged parts of its `context`.
    System,
    /// The block's `context`.
    Context,
    /// An item of the session.
    History {
        /// The request that added it.
        request_id: String,
        /// The event that added it.
        seq: u64,
    },
    /// What the block's `user` said.
    User,
    /// An earlier answer of the same block.
    Answer {
        /// The event that began that call.
        seq: u64,
    },
    /// What a tool gave.
    Tool {
        /// The event that began the call that asked for it.
        seq: u64,
        /// The model's id for the tool's call.
        id: String,
    },
    /// The log does not say.
    Unknown,
}

/// A tool that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelToolRow {
    /// The model's id for the call.
    pub id: String,
    /// The tool's name as the model saw it.
    pub name: String,
    /// What it was called with.
    pub args: Json,
    /// What it gave; absent while it runs, and where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The path of the block that ran; absent where the provider ran the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct StreamedPiece {
    /// Milliseconds after the call began.
    pub ms: i64,
    /// What came.
    pub text: String,
    /// Whether it belongs to the thoughts, and not to the answer.
    pub reasoning: bool,
}

/// A call that failed before another one for the same answer.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct ModelRetry {
    /// The event that began it.
    pub seq: u64,
    /// The model as the flow names it.
    pub model: String,
    /// Why it failed.
    pub error: ErrorInfo,
}

/// Everything of a request but its messages and tools.
pub(crate) fn parameters(request: &Value) -> Json {
    const SHOWN_APART: [&str; 4] = ["messages", "tools", "model", "generator"];
    let fields = request.as_object().cloned().unwrap_or_default();
    Json(Value::Object(fields.into_iter().filter(|(name, _)| !SHOWN_APART.contains(&name.as_str())).collect()))
}
