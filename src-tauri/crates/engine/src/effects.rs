//! Everything a request gets from outside, passed in.
//!
//! The engine reads no clock and rolls no dice of its own: what is not here does not exist for a
//! flow. What a flow gets through [`Effects`] is recorded with its path and ordinal by the
//! [context](crate::context), so that a replay can answer it from the log.

use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Data;
use crate::error::FlowError;

/// The outside world of one request.
pub trait Effects {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> i64;

    /// A number in `[0, 1)`.
    fn random(&self) -> f64;

    /// A version 4 UUID.
    fn uuid(&self) -> String;

    /// Completes after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;

    /// One model call.
    fn model(&self, call: ModelCall) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>>;
}

/// One call of a model, as a generator asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCall {
    /// The generator's block name; mock scripts are keyed by it first.
    pub generator: String,
    /// The model string as the flow wrote it.
    pub model: String,
    /// The conversation, in order.
    pub messages: Vec<Message>,
    /// The tools the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolOffer>,
    /// JSON Schema of the answer, when it is structured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Which model call of this generator run this is, from 0.
    pub step: u32,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Made of `A-Z a-z 0-9 _ -`; unique in the call.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A tool the model wants run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The model's id for it.
    pub id: String,
    /// The tool's name as the model saw it.
    pub name: String,
    /// Its arguments.
    pub args: Value,
}

/// One message of a model's conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Text, or structured parts.
    pub content: Value,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelReply {
    /// The visible text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The thinking text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tools to run before the next step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// A structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    /// Token counts, as the provider names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
}

impl ModelReply {
    /// The answer a generator checks against its schema: structured where there is one.
    pub fn candidate(&self) -> Data {
        match (&self.structured_output, &self.text) {
            (Some(value), _) => value.clone().into(),
            (None, Some(text)) => Value::String(text.clone()).into(),
            (None, None) => Data::UNDEFINED,
        }
    }
}
