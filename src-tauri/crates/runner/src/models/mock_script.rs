//! Mock scripts: canned model replies, for tests, examples and dry runs.
//!
//! Keyed by generator name first, then by model; each entry answers one model call
//! (flows/README.md, "Mock scripts"). A script that runs out is an error naming it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use engine::effects::{EffectKind, INCOMPLETE_SCRIPT, Listener, ModelCall, ModelDelta, ModelReply, ToolCall};
use engine::error::FlowError;
use engine::event::{Event, EventKind};
use engine::provider::provider_error;
use engine::views::Events;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::core::fault::Fault;
use crate::core::ordinary_files::{self, short};

/// A parsed script file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MockScript {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The path of its file, for errors; the file may be absent.
    #[serde(skip)]
    file: String,
    generators: HashMap<String, Vec<Entry>>,
    models: HashMap<String, Vec<Entry>>,
}

/// One reply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Entry {
    text: Option<String>,
    reasoning: Option<String>,
    tool_calls: Vec<Call>,
    #[serde(default, deserialize_with = "engine::json::given")]
    structured_output: Option<Value>,
    #[serde(default, deserialize_with = "engine::json::exact")]
    usage: Option<Value>,
    error: Option<Failing>,
    /// The pause before each piece of the answer.
    chunk_ms: Option<u64>,
    model: Option<String>,
    finish_reason: Option<String>,
    #[serde(deserialize_with = "engine::json::exact")]
    sources: Vec<Value>,
}

/// A call that fails.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "an error is a text, or { name, message, code?, retryable?, retryAfterMs? }")]
enum Failing {
    Text(String),
    Error(Thrown),
}

/// A failure, classified as a provider's failure.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Thrown {
    name: String,
    message: String,
    code: Option<String>,
    retryable: Option<bool>,
    retry_after_ms: Option<u64>,
}

/// A tool call in a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Call {
    id: Option<String>,
    name: String,
    #[serde(default, deserialize_with = "engine::json::exact")]
    args: Value,
    /// Whether the provider has run it itself, and what came of it.
    #[serde(default)]
    provider_executed: bool,
    #[serde(default, deserialize_with = "engine::json::given")]
    result: Option<Value>,
}

impl MockScript {
    /// A script without replies, for a flow that has no file of them.
    pub(crate) fn empty(file: &str) -> MockScript {
        MockScript { file: file.to_owned(), ..MockScript::default() }
    }

    /// Reads a script file; `origin` is what errors call it.
    pub(crate) fn read(file: &Path, origin: &str) -> Result<MockScript, Fault> {
        let shown = file.display();
        let text = ordinary_files::read_text(file, ordinary_files::FILE_BYTES)
            .map_err(|error| Fault::invalid(format!("mock script {shown} cannot be read: {error}")))?;
        let script: MockScript = engine::json::from_input(&text)
            .map_err(|error| Fault::invalid(short(&format!("mock script {shown}: {error}"))))?;
        Ok(MockScript { file: origin.to_owned(), ..script })
    }
}

/// A script while a request reads from it.
pub(crate) struct MockModels {
    script: MockScript,
    used: RefCell<HashMap<String, usize>>,
}

impl MockModels {
    pub(crate) fn new(script: MockScript) -> Self {
        MockModels { script, used: RefCell::default() }
    }

    /// Goes past the replies that the recorded calls of an earlier part of the request took.
    pub(crate) fn skip(&self, calls: &[ModelCall]) {
        for call in calls {
            let key = self.list(call).map_or_else(|| format!("models.{}", call.model), |(key, _)| key);
            *self.used.borrow_mut().entry(key).or_insert(0) += 1;
        }
    }

    /// The next reply for a call, piece by piece where the script says so.
    pub(crate) async fn answer(&self, call: &ModelCall, listener: Option<Listener>) -> Result<ModelReply, FlowError> {
        let entry = self.next(call)?;
        let pause = || tokio::time::sleep(Duration::from_millis(entry.chunk_ms.unwrap_or(0)));
        if let Some(error) = &entry.error {
            pause().await;
            return Err(error.thrown());
        }
        let mut said = false;
        for (text, delta) in [
            (&entry.reasoning, ModelDelta::Reasoning as fn(String) -> ModelDelta),
            (&entry.text, ModelDelta::Text as fn(String) -> ModelDelta),
        ] {
            let Some(text) = text else { continue };
            let pieces = match entry.chunk_ms {
                Some(_) => text.split_inclusive(char::is_whitespace).collect(),
                None => vec![text.as_str()],
            };
            for piece in pieces {
                pause().await;
                said = true;
                if let Some(listener) = &listener {
                    listener(delta(piece.to_owned()));
                }
            }
        }
        if !said {
            pause().await;
        }
        Ok(entry.reply(call))
    }

    /// The replies that answer a call, and the key in the script that has them: those of its generator, or else those
    /// of its model; in the reverse order if the call only brings an output into the form of its schema.
    fn list(&self, call: &ModelCall) -> Option<(String, &Vec<Entry>)> {
        let script = &self.script;
        let generator = script.generators.get(&call.generator);
        let generator = generator.map(|entries| (format!("generators.{}", call.generator), entries));
        let model = script.models.get(&call.model).map(|entries| (format!("models.{}", call.model), entries));
        if call.coerces { model.or(generator) } else { generator.or(model) }
    }

    /// An error about a script that does not cover the run.
    fn incomplete(&self, message: String) -> FlowError {
        let details = json!({ "mockScript": self.script.file });
        FlowError { code: Some(INCOMPLETE_SCRIPT.to_owned()), details: Some(details), ..FlowError::plain(message) }
    }

    fn next(&self, call: &ModelCall) -> Result<Entry, FlowError> {
        let Some((key, entries)) = self.list(call) else {
            return Err(self.incomplete(format!(
                "the mock script has no entry for generator \"{}\" or model \"{}\"",
                call.generator, call.model
            )));
        };
        let mut used = self.used.borrow_mut();
        let at = used.entry(key.clone()).or_insert(0);
        let Some(entry) = entries.get(*at) else {
            let has = match entries.len() {
                0 => "no reply".to_owned(),
                1 => "1 reply".to_owned(),
                count => format!("{count} replies"),
            };
            return Err(self.incomplete(format!("the mock script \"{key}\" is used up: it has {has}")));
        };
        *at += 1;
        Ok(entry.clone())
    }
}

impl Entry {
    fn reply(self, call: &ModelCall) -> ModelReply {
        let tool_calls = self.tool_calls.into_iter().enumerate().map(|(n, tool)| ToolCall {
            id: tool.id.unwrap_or_else(|| format!("call_{}_{n}", call.step)),
            name: tool.name,
            args: tool.args,
            provider_executed: tool.provider_executed,
            result: tool.result,
        });
        ModelReply {
            tool_calls: tool_calls.collect(),
            // Beside a text, null means that there is no structured answer.
            structured_output: self.structured_output.filter(|value| !value.is_null() || self.text.is_none()),
            text: self.text,
            reasoning: self.reasoning,
            usage: self.usage,
            model: self.model,
            finish_reason: self.finish_reason,
            sources: self.sources,
            response_messages: Vec::new(),
            shared_ms: None,
        }
    }
}

impl Failing {
    fn thrown(&self) -> FlowError {
        let error = match self {
            Failing::Text(message) => return provider_error("ModelError", message),
            Failing::Error(error) => error,
        };
        let known = provider_error(&error.name, &error.message);
        FlowError {
            code: error.code.clone().or(known.code),
            retryable: error.retryable.unwrap_or(known.retryable),
            details: error.retry_after_ms.map(|ms| json!({ "retryAfterMs": ms })),
            ..known
        }
    }
}

/// The model calls that were answered before, in order, without what they told. A call that the script had no reply for
/// took none: the next one finds the reply that was added to the script since.
pub(crate) fn recorded_calls(events: &[Event]) -> Vec<ModelCall> {
    let view = Events::new(events);
    let calls = events.iter().filter_map(|event| match &event.kind {
        EventKind::EffectFinished { effect: EffectKind::Model, memoized: false, error, .. } => {
            if error.as_ref().is_some_and(|error| error.code.as_deref() == Some(INCOMPLETE_SCRIPT)) {
                return None;
            }
            let mut request = view.effect_request(&event.kind)?.clone();
            request["messages"] = Value::Array(Vec::new());
            engine::json::from_value(request).ok()
        }
        _ => None,
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    fn answer(entry: Value) -> (Result<ModelReply, FlowError>, Vec<ModelDelta>) {
        let script = serde_json::from_value(json!({ "models": { "m": [entry] } })).expect("a script");
        let call = serde_json::from_value(json!({ "generator": "g", "model": "m", "messages": [], "step": 0 }));
        let heard = Rc::new(RefCell::new(Vec::new()));
        let ear = heard.clone();
        let listener: Listener = Rc::new(move |delta| ear.borrow_mut().push(delta));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let models = MockModels::new(script);
        let result = runtime.block_on(models.answer(&call.expect("a call"), Some(listener)));
        let heard = heard.borrow().clone();
        (result, heard)
    }

    #[test]
    fn a_script_with_a_pause_streams_word_by_word() {
        let (reply, heard) = answer(json!({ "text": "Hi  there\nyou", "reasoning": "So be", "chunkMs": 1 }));
        let text = |piece: &str| ModelDelta::Text(piece.to_owned());
        let thought = |piece: &str| ModelDelta::Reasoning(piece.to_owned());
        assert_eq!(
            heard,
            [thought("So "), thought("be"), text("Hi "), text(" "), text("there\n"), text("you")],
            "in order, nothing lost"
        );
        assert_eq!(reply.expect("an answer").text.as_deref(), Some("Hi  there\nyou"));
    }

    #[test]
    fn without_a_pause_it_comes_in_one_piece() {
        let (reply, heard) = answer(json!({
            "text": "a b", "model": "m-1", "finishReason": "length", "sources": [{ "url": "https://x.org" }]
        }));
        assert_eq!(heard, [ModelDelta::Text("a b".to_owned())]);
        let reply = reply.expect("an answer");
        assert_eq!((reply.model.as_deref(), reply.finish_reason.as_deref()), (Some("m-1"), Some("length")));
        assert_eq!(reply.sources, [json!({ "url": "https://x.org" })]);
    }

    #[test]
    fn a_scripted_error_is_classified_by_its_name() {
        let (error, _) = answer(json!({ "error": { "name": "RateLimitError", "message": "slow", "retryAfterMs": 5 } }));
        let error = error.expect_err("it fails");
        assert_eq!((error.code.as_deref(), error.retryable), (Some("rate_limit_error"), true));
        assert_eq!(error.details, Some(json!({ "retryAfterMs": 5 })));
        assert_eq!(error.classes, ["RateLimitError", "FlowError", "Error"]);
        let (error, _) = answer(json!({ "error": "down" }));
        assert_eq!(error.expect_err("it fails").code.as_deref(), Some("model_error"));
    }
}
