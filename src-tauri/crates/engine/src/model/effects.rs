//! Effects: everything a request gets from outside, as a trait.
//!
//! The engine reads no clock and makes no random values itself; a flow has no other effects than these. Their results
//! are recorded with path and ordinal by `execution::ctx`, so that a replay can take them from the log.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::EventKind;
pub use crate::model::message::Message;
use crate::model::redaction::Redaction;

mod dispatch;

pub use dispatch::{Dispatch, DispatchRefusal, DispatchTo, Dispatched, DispatchedBy};

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
    /// A time.
    Clock,
    /// Random numbers or bytes.
    Random,
    /// A random UUID.
    Uuid,
    /// `ctx.runOnce`: the author's own effect, once for each key.
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

/// An effect whose result is there at once: a time or random values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEffect {
    /// Milliseconds since the epoch.
    Clock,
    /// The same with a fraction, by a monotonic clock.
    PreciseClock,
    /// A number in `[0, 1)`.
    Random,
    /// So many random bytes: `{ "base64": … }`.
    Bytes(usize),
    /// A version 4 UUID.
    Uuid,
}

impl SyncEffect {
    /// Its kind in the log.
    pub fn kind(self) -> EffectKind {
        match self {
            SyncEffect::Clock | SyncEffect::PreciseClock => EffectKind::Clock,
            SyncEffect::Random | SyncEffect::Bytes(_) => EffectKind::Random,
            SyncEffect::Uuid => EffectKind::Uuid,
        }
    }

    /// Returns a constant of the right shape, for code that runs without a request.
    pub fn placeholder(self) -> Value {
        match self {
            SyncEffect::Clock | SyncEffect::PreciseClock => 0.into(),
            SyncEffect::Random => 0.5.into(),
            SyncEffect::Bytes(count) => {
                let mut base64 = "A".repeat((count * 4).div_ceil(3));
                base64.push_str(["", "==", "="][count % 3]);
                serde_json::json!({ "base64": base64 })
            }
            SyncEffect::Uuid => "00000000-0000-4000-8000-000000000000".into(),
        }
    }
}

/// The outside world of one request. Results are not recorded here; `execution::ctx` does that.
pub trait Effects {
    /// Returns the result of a synchronous effect.
    fn sync_effect(&self, effect: SyncEffect) -> Value {
        match effect {
            SyncEffect::Clock | SyncEffect::PreciseClock => self.now_ms().into(),
            SyncEffect::Random => self.random().into(),
            SyncEffect::Bytes(_) => effect.placeholder(),
            SyncEffect::Uuid => self.uuid().into(),
        }
    }

    /// Milliseconds since the epoch.
    fn now_ms(&self) -> i64;

    /// Returns the time of an event that is recorded now, in milliseconds since the epoch. A replay returns when the
    /// recorded run recorded it, and gives the item that the event makes its recorded times.
    fn event_time(&self, _path: Option<&Arc<str>>, _attempt: u32, _kind: &mut EventKind) -> i64 {
        self.now_ms()
    }

    /// A number in `[0, 1)`.
    fn random(&self) -> f64;

    /// A version 4 UUID.
    fn uuid(&self) -> String;

    /// Completes after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;

    /// As [`sleep`](Self::sleep), but a request that waits for nothing else does not wait for it.
    fn sleep_idly(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.sleep(ms)
    }

    /// Never completes. Until it is dropped, the request waits for it as for something outside.
    fn hold(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    /// Starts an entry as a request of its own (SEMANTICS §1.8). The result is recorded by who asks.
    fn dispatch(&self, _call: Dispatch) -> LocalBoxFuture<'static, Result<Dispatched, DispatchRefusal>> {
        let refused = DispatchRefusal {
            refused: "no-dispatch-operation".to_owned(),
            detail: "nothing here starts requests".to_owned(),
        };
        std::future::ready(Err(refused)).boxed_local()
    }

    /// Calls a model. The listener gets text and reasoning as they arrive, in order; the reply contains all of it
    /// again. Without a listener the model need not stream.
    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>>;

    /// Sends an HTTP request, if the workspace allows it.
    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>>;

    /// Returns which secrets are removed from recorded requests and results.
    fn redaction(&self) -> Arc<Redaction> {
        Arc::default()
    }

    /// Returns `env` of the workspace's settings: texts by name.
    fn env(&self) -> Value {
        json!({})
    }

    /// Returns how many levels JSON in a model's text may nest.
    fn depth(&self) -> usize {
        crate::model::json::DEFAULT_MAX_DEPTH
    }
}

/// What the client does with a redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redirect {
    /// It is followed, as far as the hosts are allowed.
    #[default]
    Follow,
    /// The redirect itself is the reply.
    Manual,
    /// As `Manual`, and the flow's `fetch` fails.
    Error,
}

impl Redirect {
    fn is_followed(&self) -> bool {
        *self == Redirect::Follow
    }
}

/// A function that gets a model's deltas as they arrive.
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
    /// What the client does with a redirect.
    #[serde(default, skip_serializing_if = "Redirect::is_followed")]
    pub redirect: Redirect,
}

/// The reply to a [`FetchCall`], with its whole body.
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

/// The code of the error of a mocked model whose script has no reply left.
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
    /// The author's options for the provider, passed on unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub provider_options: Option<Value>,
    /// What models are that the flow's own code defines, by the names that it uses: `provider/model`. Settings of the
    /// workspace come first. They are no part of what is asked, so they are not recorded.
    #[serde(skip)]
    pub defined_models: BTreeMap<String, String>,
    /// True for the call that rewrites an answer which does not fit its schema (SEMANTICS §6.5).
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
    /// Whether the provider has run the tool itself: then it is not run here, and no result is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider_executed: bool,
    /// The result of a tool that the provider has run, if it reports one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::given")]
    pub result: Option<Value>,
}

impl ToolCall {
    /// A call that the model wants run.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Value) -> Self {
        ToolCall { id: id.into(), name: name.into(), args, provider_executed: false, result: None }
    }

    /// Refuses arguments with an integer that JavaScript would round.
    pub(crate) fn check_numbers(&self) -> Result<(), FlowError> {
        let Some((path, message)) = crate::model::json::inexact(&self.args) else { return Ok(()) };
        let at = if path.is_empty() { String::new() } else { format!(" at \"{path}\"") };
        let message = format!("Tool \"{}\" input validation failed{at}: {message}", self.name);
        Err(FlowError::validation(message, None))
    }

    /// Returns the call with the field names that authors know.
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
    /// A structured answer; it may be null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::given")]
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
    /// Sources that the answer cites: `{ id?, url, title? }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::model::json::exact")]
    pub sources: Vec<Value>,
    /// The turn as a model of the author returned it: messages of the roles `assistant` and `tool`, which its next step
    /// gets unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::model::json::exact")]
    pub response_messages: Vec<Value>,
    /// Set if an identical call of another run was given this reply, and nothing was asked or paid for it: how much
    /// longer the model took than this run waited, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_ms: Option<u64>,
}

impl ModelReply {
    /// Returns whether the model wants to be asked again although nothing is to be run here: the provider runs a tool
    /// whose result comes later.
    pub(crate) fn awaits_provider(&self) -> bool {
        self.finish_reason.as_deref() == Some("tool-calls") && self.tool_calls.iter().any(|call| call.provider_executed)
    }

    /// Returns the answer: structured if there is one, else the text.
    pub fn candidate(&self) -> Data {
        match (&self.structured_output, &self.text) {
            (Some(value), _) => value.clone().into(),
            (None, Some(text)) => Value::String(text.clone()).into(),
            (None, None) => Data::UNDEFINED,
        }
    }
}
