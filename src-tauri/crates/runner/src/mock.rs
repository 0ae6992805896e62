//! Mock scripts: canned model replies, for tests, examples and dry runs.
//!
//! Keyed by generator name first, then by model; each entry answers one model call
//! (`design/authoring.md`, Models). A script that runs out is an error naming it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use engine::effects::{ModelCall, ModelReply, ToolCall};
use engine::error::FlowError;
use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

/// A script as its file has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MockScript {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
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
    structured_output: Option<Value>,
    usage: Option<Value>,
    error: Option<String>,
    chunk_ms: Option<u64>,
}

/// A tool call in a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

impl MockScript {
    /// Reads a script file.
    pub(crate) fn read(file: &Path) -> Result<MockScript, Fault> {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Fault::invalid(format!("mock script {shown} cannot be read: {error}")))?;
        serde_json::from_str(&text).map_err(|error| Fault::invalid(format!("mock script {shown}: {error}")))
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
            let key = match self.script.generators.contains_key(&call.generator) {
                true => format!("generators.{}", call.generator),
                false => format!("models.{}", call.model),
            };
            *self.used.borrow_mut().entry(key).or_insert(0) += 1;
        }
    }

    /// The next reply for a call, and how long it takes.
    pub(crate) fn answer(&self, call: &ModelCall) -> (u64, Result<ModelReply, FlowError>) {
        let (key, entries) = match (self.script.generators.get(&call.generator), self.script.models.get(&call.model)) {
            (Some(entries), _) => (format!("generators.{}", call.generator), entries),
            (None, Some(entries)) => (format!("models.{}", call.model), entries),
            (None, None) => {
                return (
                    0,
                    Err(FlowError::plain(format!(
                        "the mock script has no entry for generator \"{}\" or model \"{}\"",
                        call.generator, call.model
                    ))),
                );
            }
        };
        let mut used = self.used.borrow_mut();
        let at = used.entry(key.clone()).or_insert(0);
        let Some(entry) = entries.get(*at) else {
            let count = entries.len();
            return (0, Err(FlowError::plain(format!("the mock script \"{key}\" is used up: it has {count} replies"))));
        };
        *at += 1;
        let wait = entry.chunk_ms.unwrap_or(0);
        if let Some(error) = &entry.error {
            return (
                wait,
                Err(FlowError {
                    retryable: true,
                    code: Some("model_error".to_owned()),
                    ..FlowError::new("ModelError", error)
                }),
            );
        }
        let tool_calls = entry.tool_calls.iter().enumerate().map(|(n, tool)| ToolCall {
            id: tool.id.clone().unwrap_or_else(|| format!("call_{}_{n}", call.step)),
            name: tool.name.clone(),
            args: tool.args.clone(),
        });
        let reply = ModelReply {
            tool_calls: tool_calls.collect(),
            text: entry.text.clone(),
            reasoning: entry.reasoning.clone(),
            structured_output: entry.structured_output.clone(),
            usage: entry.usage.clone(),
            ..ModelReply::default()
        };
        (wait, Ok(reply))
    }
}
