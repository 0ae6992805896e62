//! Everything a request gets from outside, passed in.
//!
//! The engine reads no clock and rolls no dice of its own: what is not here does not exist for a
//! flow. What a flow gets through [`Effects`] is recorded with its path and ordinal by the
//! the context, so that a replay can answer it from the log.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::redaction::Redaction;

/// What a flow can get from outside; the names are those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectKind {
    /// One call of a model.
    Model,
    /// One HTTP exchange.
    Fetch,
    /// A pause.
    Sleep,
    /// A look at a clock.
    Clock,
    /// Random numbers or bytes.
    Random,
    /// A random UUID.
    Uuid,
    /// `ctx.runOnce`: the author's own effect, kept under a key.
    Once,
}

impl EffectKind {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            EffectKind::Model => "model",
            EffectKind::Fetch => "fetch",
            EffectKind::Sleep => "sleep",
            EffectKind::Clock => "clock",
            EffectKind::Random => "random",
            EffectKind::Uuid => "uuid",
            EffectKind::Once => "once",
        }
    }
}

/// What a flow gets from outside at once: a look at a clock, or chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// Milliseconds since the epoch.
    Clock,
    /// The same with a fraction, by a clock that never goes back.
    PreciseClock,
    /// A number in `[0, 1)`.
    Random,
    /// So many random bytes: `{ "base64": … }`.
    Bytes(usize),
    /// A version 4 UUID.
    Uuid,
}

impl Instant {
    /// Its kind in the log.
    pub fn kind(self) -> EffectKind {
        match self {
            Instant::Clock | Instant::PreciseClock => EffectKind::Clock,
            Instant::Random | Instant::Bytes(_) => EffectKind::Random,
            Instant::Uuid => EffectKind::Uuid,
        }
    }

    /// What stands for it where there is no outside.
    pub fn fixed(self) -> Value {
        match self {
            Instant::Clock | Instant::PreciseClock => 0.into(),
            Instant::Random => 0.5.into(),
            Instant::Bytes(count) => {
                let mut base64 = "A".repeat((count * 4).div_ceil(3));
                base64.push_str(["", "==", "="][count % 3]);
                serde_json::json!({ "base64": base64 })
            }
            Instant::Uuid => "00000000-0000-4000-8000-000000000000".into(),
        }
    }
}

/// The outside world of one request.
pub trait Effects {
    /// What it answers at once.
    fn instant(&self, instant: Instant) -> Value {
        match instant {
            Instant::Clock | Instant::PreciseClock => self.now_ms().into(),
            Instant::Random => self.random().into(),
            Instant::Bytes(_) => instant.fixed(),
            Instant::Uuid => self.uuid().into(),
        }
    }

    /// Milliseconds since the epoch.
    fn now_ms(&self) -> i64;

    /// A number in `[0, 1)`.
    fn random(&self) -> f64;

    /// A version 4 UUID.
    fn uuid(&self) -> String;

    /// Completes after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;

    /// One model call. A listener hears text and reasoning as they arrive, in order; the reply holds
    /// all of it again. Without a listener the model need not stream.
    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>>;

    /// One HTTP exchange, where the workspace allows it.
    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>>;

    /// What is taken out of the record of all that.
    fn redaction(&self) -> Arc<Redaction> {
        Arc::default()
    }

    /// How deep a text of a model may be nested that is read as JSON.
    fn depth(&self) -> usize {
        crate::model::json::DEPTH
    }
}

/// Whether the client follows where a server sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redirect {
    /// As far as the hosts are allowed.
    #[default]
    Follow,
    /// The answer that redirects is the reply.
    Manual,
    /// The same; the flow's `fetch` then fails.
    Error,
}

impl Redirect {
    fn is_followed(&self) -> bool {
        *self == Redirect::Follow
    }
}

/// Hears a model's answer while it grows.
pub type Listener = Rc<dyn Fn(ModelDelta)>;

/// A piece of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelDelta {
    /// Visible text.
    Text(String),
    /// Thinking text.
    Reasoning(String),
}

/// One HTTP request of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchCall {
    /// The address, absolute.
    pub url: String,
    /// `GET`, `POST`, …, in capitals.
    pub method: String,
    /// Names and values in the author's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, if any: text; base64 of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether `body` is base64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base64: bool,
    /// What becomes of a redirect.
    #[serde(default, skip_serializing_if = "Redirect::is_followed")]
    pub redirect: Redirect,
}

/// What came back, read whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchReply {
    /// 200, 404, …
    pub status: u16,
    /// `OK`, `Not Found`, …
    pub status_text: String,
    /// The address after redirects.
    pub url: String,
    /// Names in lower case, in the server's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body as text; in base64 where it is no UTF-8.
    pub body: String,
    /// Whether `body` is base64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base64: bool,
}

/// The code of the error of a model that was to answer from a script, and has nothing there.
pub const INCOMPLETE_SCRIPT: &str = "mock_script";

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
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub output_schema: Option<Value>,
    /// Which model call of this generator run this is, from 0.
    pub step: u32,
    /// The longest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// What the author passes on to the provider as it is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub provider_options: Option<Value>,
    /// Whether it only writes anew what the generator's model said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coerces: bool,
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
    #[serde(deserialize_with = "crate::model::json::exact")]
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
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub args: Value,
    /// Whether the provider has run it itself: then nobody runs it again, and the model waits for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider_executed: bool,
    /// What came of it there, as far as the provider tells.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub result: Option<Value>,
}

impl ToolCall {
    /// A call that the model wants run.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Value) -> Self {
        ToolCall { id: id.into(), name: name.into(), args, provider_executed: false, result: None }
    }

    /// The call in an author's words.
    pub fn to_public_json(&self) -> Value {
        let mut json = json!({ "toolCallId": self.id, "toolName": self.name, "args": self.args });
        if self.provider_executed {
            json["providerExecuted"] = true.into();
        }
        if let Some(result) = &self.result {
            json["result"] = result.clone();
        }
        json
    }
}

/// One message of a model's conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Text, or structured parts.
    #[serde(deserialize_with = "crate::model::json::exact")]
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
    /// Tools to run before the next step, and those that the provider has run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// A structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub structured_output: Option<Value>,
    /// `promptTokens`, `completionTokens`, `totalTokens`, `cacheReadInputTokens`,
    /// `cacheCreationInputTokens`, as far as the provider tells.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub usage: Option<Value>,
    /// The model that answered, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it stopped: `stop`, `length`, `tool-calls`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Pages the answer rests on: `{ id?, url, title? }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::model::json::exact")]
    pub sources: Vec<Value>,
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
