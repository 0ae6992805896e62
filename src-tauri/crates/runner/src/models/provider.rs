//! The conversation with a provider: one call, answered whole or piece by piece.
//!
//! It knows no configuration and no policy: a [`Target`] says who is asked, and what goes wrong
//! leaves as a [`Failure`].

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use futures_util::StreamExt;
pub(crate) use genai::adapter::AdapterKind as Kind;
use genai::chat::{
    ChatFrameSink, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, FrameCtx, JsonSpec, RawFrameRef,
    ReasoningEffort,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::Url;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::failure::Failure;
use super::kept_reply::KeptReply;
use super::relay::{Relay, ReplySource};
use super::target::Target;
use super::wire_format::{self, ProviderMessages};
use crate::core::config::Limits;
use crate::models::http;

/// The provider of a name: `openai`, `open-router`, `google`, …
pub(crate) fn kind(name: &str) -> Option<Kind> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "");
    let wanted = match plain(name).as_str() {
        "google" => "gemini".to_owned(),
        other => other.to_owned(),
    };
    Kind::all().iter().copied().find(|kind| plain(kind.as_lower_str()) == wanted)
}

/// The provider of a well-known model.
pub(crate) fn kind_of_model(model: &str) -> Option<Kind> {
    let numbered = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let known = numbered || ["gpt-", "chatgpt-", "claude-", "gemini-"].iter().any(|begin| model.starts_with(begin));
    match Kind::from_model(model).ok().filter(|_| known)? {
        Kind::OpenAIResp => Some(Kind::OpenAI),
        kind => Some(kind),
    }
}

/// The environment variable that a provider's key is usually in; `None` where there is no key.
pub(crate) fn default_key(kind: Kind) -> Option<&'static str> {
    kind.default_key_env_name()
}

/// The client, and what models said before tools ran.
pub(crate) struct Provider {
    client: Client,
    /// What the relay asks servers with.
    http: reqwest::Client,
    limits: Limits,
    /// Assistants' messages verbatim: some providers sign their thoughts, and want them back whole.
    said: RefCell<ProviderMessages>,
}

impl Provider {
    pub(crate) fn new(limits: Limits) -> Result<Self, Failure> {
        // A redirect is not followed: a key must not go where nobody sent it.
        let http = http::client(Policy::none).map_err(Failure::Impossible)?;
        let client = Client::builder().with_reqwest(http.clone()).build().map_err(Failure::from)?;
        Ok(Provider { client, http, limits, said: RefCell::default() })
    }

    /// The provider's own address.
    pub(crate) async fn address(&self, target: &Target) -> Result<Option<Url>, Failure> {
        let own = self.client.resolve_service_target(ModelIden::new(target.kind, target.model.as_str())).await;
        Ok(Url::parse(own.map_err(Failure::from)?.endpoint.base_url()).ok())
    }

    /// One call.
    pub(crate) async fn answer(
        &self,
        target: &Target,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> Result<ModelReply, Failure> {
        let service = self.service(target).await?;
        let schema = call.output_schema.as_ref().map(Schema::new);
        let mut options = wire_format::options(target.kind, &call).with_capture_usage(true);
        options.response_format = schema.as_ref().map(|schema| schema.spec(&call.generator).into());
        if target.kind == Kind::OpenAI && options.reasoning_effort.is_none() {
            // Without an effort, genai would read one off the model's name and cut it ("qwen-max");
            // a budget is something this protocol cannot say, so nothing is sent.
            options.reasoning_effort = Some(ReasoningEffort::Budget(0));
        }
        let request = wire_format::request(call, &self.said.borrow())?;
        let mut reply = match listener {
            Some(listener) => self.streamed(target, service, request, options, &listener).await?,
            None => self.whole(target, service, request, options, ReplySource::Server).await?,
        };
        if let (Some(schema), Some(text)) = (schema, &reply.text) {
            // Text that is no JSON stays text: the engine repairs or refuses it.
            let value = engine::json::parse_within(text, self.limits.depth).ok();
            reply.structured_output = value.map(|value| schema.unwrap(value));
        }
        Ok(reply)
    }

    async fn service(&self, target: &Target) -> Result<ServiceTarget, Failure> {
        let kind = match (target.kind, &target.base) {
            // OpenAI's newer models want its newer protocol; servers that speak like it know the older.
            (Kind::OpenAI, None) => match Kind::from_model(&target.model) {
                Ok(Kind::OpenAIResp) => Kind::OpenAIResp,
                _ => Kind::OpenAI,
            },
            (kind, _) => kind,
        };
        let model = ModelIden::new(kind, target.model.as_str());
        let mut service = self.client.resolve_service_target(model).await.map_err(Failure::from)?;
        if let Some(base) = &target.base {
            service.endpoint = Endpoint::from_owned(base.as_str());
        }
        service.auth = match (&target.key, &target.base) {
            (Some(key), _) => AuthData::Key(key.clone()),
            (None, Some(base)) if kind == Kind::OpenAI => {
                let url = base.join("chat/completions").map_err(|error| Failure::Impossible(error.to_string()))?;
                AuthData::RequestOverride { url: url.into(), headers: Headers::default() }
            }
            // Where a key is usual, an empty one lets the server say that it wants one.
            (None, _) if default_key(kind).is_some() => AuthData::Key(String::new()),
            (None, _) => AuthData::None,
        };
        Ok(service)
    }

    /// An answer that a listener hears: streamed, or the whole document that the server answers with instead. Both take
    /// one request.
    async fn streamed(
        &self,
        target: &Target,
        service: ServiceTarget,
        request: ChatRequest,
        options: ChatOptions,
        listener: &Listener,
    ) -> Result<ModelReply, Failure> {
        let kept = Arc::new(KeptReply::default());
        let streamed =
            self.stream(target, service.clone(), request.clone(), options.clone(), listener, kept.clone()).await;
        if !matches!(streamed, Err(Failure::NoStream)) {
            return streamed;
        }
        let document = kept.take().ok_or(Failure::NoStream)?;
        let reply = self.whole(target, service, request, options, ReplySource::Before(document)).await?;
        reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
        reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
        Ok(reply)
    }

    async fn whole(
        &self,
        target: &Target,
        service: ServiceTarget,
        request: ChatRequest,
        options: ChatOptions,
        source: ReplySource,
    ) -> Result<ModelReply, Failure> {
        let options = options.with_capture_raw_body(true);
        let (relay, service) = self.relay(service, source).await?;
        let answer = relay.carry(async {
            let answer = self.client.exec_chat(service, request, Some(&options));
            let answer = tokio::time::timeout(target.timeout, answer).await.map_err(|_| Failure::Timeout)?;
            answer.map_err(Failure::from)
        });
        let mut response = answer.await?;
        let raw = response.captured_raw_body.take().unwrap_or_default();
        if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
            return Err(Failure::Reported(error.clone()));
        }
        let mut reply = ModelReply {
            text: wire_format::text(response.content.texts()),
            reasoning: response.reasoning_content.clone().filter(|text| !text.is_empty()),
            tool_calls: response.content.tool_calls().into_iter().map(wire_format::tool_call).collect(),
            usage: wire_format::usage(&response.usage),
            model: Some(response.provider_model_iden.model_name.to_string()),
            finish_reason: response.stop_reason.as_ref().map(wire_format::finish),
            sources: wire_format::sources(&raw),
            structured_output: None,
            response_messages: Vec::new(),
            shared_ms: None,
        };
        self.remember(&mut reply, response.into_assistant_message_for_tool_use());
        Ok(reply)
    }

    async fn stream(
        &self,
        target: &Target,
        service: ServiceTarget,
        request: ChatRequest,
        options: ChatOptions,
        listener: &Listener,
        kept: Arc<KeptReply>,
    ) -> Result<ModelReply, Failure> {
        let (relay, service) = self.relay(service, ReplySource::KeptServer(kept.clone())).await?;
        relay.carry(self.hear(target, service, request, options, listener, kept)).await
    }

    /// A relay to the service, and the service by way of it.
    async fn relay(&self, mut service: ServiceTarget, source: ReplySource) -> Result<(Relay, ServiceTarget), Failure> {
        let parsed = |text: &str| Url::parse(text).map_err(|error| Failure::Impossible(error.to_string()));
        let base = parsed(service.endpoint.base_url())?;
        let relay = Relay::open(&self.http, &base, self.limits, source).await?;
        service.endpoint = Endpoint::from_owned(relay.address(&base)?);
        if let AuthData::RequestOverride { url, .. } = &mut service.auth {
            *url = relay.address(&parsed(url)?)?;
        }
        Ok((relay, service))
    }

    async fn hear(
        &self,
        target: &Target,
        service: ServiceTarget,
        request: ChatRequest,
        options: ChatOptions,
        listener: &Listener,
        kept: Arc<KeptReply>,
    ) -> Result<ModelReply, Failure> {
        let frames = Arc::new(Frames { seen: Mutex::default(), kept });
        let options = options
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_stream_header_timeout(target.timeout)
            .with_stream_read_timeout(target.timeout)
            .with_raw_frame_sink_arc(frames.clone());
        let response = self.client.exec_chat_stream(service, request, Some(&options)).await.map_err(Failure::from)?;
        let mut stream = response.stream;
        let mut reply = ModelReply::default();
        let end = loop {
            match stream.next().await {
                Some(Ok(ChatStreamEvent::Chunk(chunk))) => {
                    reply.text.get_or_insert_default().push_str(&chunk.content);
                    listener(ModelDelta::Text(chunk.content));
                }
                Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => {
                    reply.reasoning.get_or_insert_default().push_str(&chunk.content);
                    listener(ModelDelta::Reasoning(chunk.content));
                }
                Some(Ok(ChatStreamEvent::End(end))) => break end,
                // Tool calls are whole in the end; signatures and signs of life are not for us.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None if !frames.seen().anything => return Err(Failure::NoStream),
                None => return Err(Failure::Cut("the stream ended early".to_owned())),
            }
        };
        reply.tool_calls =
            end.captured_tool_calls().unwrap_or_default().into_iter().map(wire_format::tool_call).collect();
        reply.usage = end.captured_usage.as_ref().and_then(wire_format::usage);
        reply.finish_reason = end.captured_stop_reason.as_ref().map(wire_format::finish);
        reply.model = frames.seen().model.take().or_else(|| Some(target.model.clone()));
        self.remember(&mut reply, end.into_assistant_message_for_tool_use());
        Ok(reply)
    }

    fn remember(&self, reply: &mut ModelReply, message: Option<ChatMessage>) {
        if let Some(message) = message {
            let calls = reply.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), &call.args));
            self.said.borrow_mut().insert(wire_format::key_of(calls), message);
        }
    }
}

/// A schema as it is asked for: providers take objects only, so anything else goes into one.
struct Schema {
    schema: Value,
    wrapped: bool,
}

impl Schema {
    fn new(schema: &Value) -> Self {
        if schema["type"] == "object" {
            Schema { schema: schema.clone(), wrapped: false }
        } else {
            Schema {
                schema: json!({
                    "type": "object",
                    "properties": { "output": schema },
                    "required": ["output"],
                    "additionalProperties": false,
                }),
                wrapped: true,
            }
        }
    }

    fn spec(&self, generator: &str) -> JsonSpec {
        let name = generator.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_");
        JsonSpec::new(name, self.schema.clone())
    }

    fn unwrap(&self, mut value: Value) -> Value {
        match value.get_mut("output").filter(|_| self.wrapped) {
            Some(output) => output.take(),
            None => value,
        }
    }
}

/// The frames of a stream, for what genai does not tell: who answered, and whether anything came.
struct Frames {
    seen: Mutex<Seen>,
    /// Dropped with the first frame.
    kept: Arc<KeptReply>,
}

#[derive(Default)]
struct Seen {
    anything: bool,
    model: Option<String>,
}

impl Frames {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        if !frame.data.is_empty() && !seen.anything {
            seen.anything = true;
            self.kept.drop_as_stream();
        }
        if seen.model.is_none() {
            let frame = frame.json().unwrap_or_default();
            let places = ["/model", "/message/model", "/response/model", "/modelVersion"];
            let model = places.iter().find_map(|place| frame.pointer(place).and_then(Value::as_str));
            seen.model = model.filter(|model| !model.is_empty()).map(str::to_owned);
        }
    }
}
