//! What was said: the calls of models, the messages of users and models, and the calls of tools.

use std::collections::HashSet;
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{EventKind, Seq};
use engine::item::{ItemStatus, NewItem};
use serde_json::{Map, Value, json};

use super::LogOfTrace;

/// The item of a call of a tool that has no result yet.
pub(super) struct OpenTool {
    seq: Seq,
    path: Arc<str>,
    name: Value,
    args: Value,
    /// Of a call without an id: what the model had been asked with.
    prompt: Option<blake3::Hash>,
}

impl LogOfTrace<'_> {
    /// A call of a model begins: what is new in its messages was said, or was the result of a tool. Returns the event
    /// with which it begins.
    pub(super) fn ask(&mut self, time: i64, path: Arc<str>, request: Value) -> Seq {
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let turn = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |last| last + 1);
        for part in parts(messages).filter(|part| part["type"] == "tool-result") {
            if let Some(id) = part["toolCallId"].as_str().filter(|id| !id.is_empty()) {
                self.tool_done(id, time, Ok(output_of(part)));
            }
        }
        self.answer_unnumbered(time, messages);
        for message in messages.iter().skip(turn).filter(|message| message["role"] == "user") {
            if self.said.insert(blake3::hash(message["content"].to_string().as_bytes())) {
                self.add_item(time, &path, "message", said("user", "input_text", &message["content"]));
            }
        }
        let seq = self.last + 1;
        self.prompts.extend(prefixes(messages).last().map(|prompt| (seq, prompt)));
        let request = Some(self.stored.store(seq, request));
        let started = EventKind::EffectStarted { effect: EffectKind::Model, ordinal: 0, request };
        self.push(time, Some(path), started)
    }

    fn add_item(&mut self, time: i64, path: &Arc<str>, item_type: &str, payload: Map<String, Value>) -> Seq {
        let status = if item_type == "block_tool_output" { ItemStatus::InProgress } else { ItemStatus::Completed };
        let item = NewItem {
            item_type: item_type.to_owned(),
            status,
            key: None,
            transient: false,
            agent_type: None,
            agent_name: None,
            item_visibility: None,
            owned_by: None,
            payload,
        };
        self.push(time, Some(path.clone()), EventKind::ItemAdded { item })
    }

    /// Ends the items of calls without an id if a prompt has their results, which are in the order of the calls.
    /// Results that an earlier prompt had are skipped. Without an earlier prompt, the newest results are those of the
    /// newest calls.
    fn answer_unnumbered(&mut self, time: i64, messages: &[Value]) {
        if self.unnumbered_tools.is_empty() {
            return;
        }
        let open: HashSet<blake3::Hash> = self.unnumbered_tools.iter().filter_map(|open| open.prompt).collect();
        let known = prefixes(messages).enumerate().filter(|(_, prompt)| open.contains(prompt)).last();
        let (rest, prompt) = known.map_or((messages, None), |(at, prompt)| (&messages[at + 1..], Some(prompt)));
        let is_unnumbered = |part: &&Value| part["toolCallId"].as_str().unwrap_or_default().is_empty();
        let of_kind = |kind: &'static str| parts(rest).filter(move |part| part["type"] == kind);
        let asked = of_kind("tool-call").filter(is_unnumbered);
        let pairs: Vec<_> = asked.zip(of_kind("tool-result").filter(is_unnumbered)).collect();
        let mut ended = Vec::new();
        for (asked, result) in pairs.into_iter().rev() {
            let is_of = |open: &OpenTool| {
                let is_there = prompt.is_none() || open.prompt == prompt;
                is_there && open.name == asked["toolName"] && open.args == asked["args"]
            };
            if let Some(at) = self.unnumbered_tools.iter().rposition(is_of) {
                ended.push((self.unnumbered_tools.remove(at), output_of(result)));
            }
        }
        for (open, output) in ended.into_iter().rev() {
            self.finish_tool(open, time, Ok(output));
        }
    }

    /// The call of a tool with this id has ended.
    pub(super) fn tool_done(&mut self, id: &str, time: i64, result: Result<Value, FlowError>) {
        if let Some(open) = self.tools.remove(id) {
            self.finish_tool(Some(open), time, result);
        }
    }

    /// A tool that was called without an id has ended.
    pub(super) fn unnumbered_tool_done(
        &mut self,
        name: &str,
        args: Option<&Value>,
        time: i64,
        result: Result<Value, FlowError>,
    ) {
        let is_of = |open: &OpenTool| open.name == name && args.is_none_or(|args| open.args == *args);
        if let Some(at) = self.unnumbered_tools.iter().position(is_of) {
            let open = self.unnumbered_tools.remove(at);
            self.finish_tool(open, time, result);
        }
    }

    /// Ends the items of calls of which the trace shows no result: with the request, nothing of it goes on.
    pub(super) fn end_tools(&mut self, time: i64) {
        let mut open: Vec<OpenTool> = self.tools.drain().map(|(_, open)| open).collect();
        open.extend(self.unnumbered_tools.drain(..));
        open.sort_unstable_by_key(|open| open.seq);
        for OpenTool { seq, path, .. } in open {
            let (status, patch) = (ItemStatus::Completed, Map::new());
            self.push(time, Some(path), EventKind::ItemDone { of: seq, status, patch });
        }
    }

    fn finish_tool(&mut self, open: Option<OpenTool>, time: i64, result: Result<Value, FlowError>) {
        let Some(OpenTool { seq, path, .. }) = open else { return };
        let (status, field, value) = match result {
            Ok(value) => (ItemStatus::Completed, "output", value),
            Err(error) => (ItemStatus::Failed, "error", json!({ "name": error.name, "message": error.message })),
        };
        let patch = Map::from_iter([(field.to_owned(), value)]);
        self.push(time, Some(path), EventKind::ItemDone { of: seq, status, patch });
    }

    /// A call of a model ends: what it said, and the tools that it asked for.
    pub(super) fn answered(
        &mut self,
        generator: &str,
        started: Seq,
        time: i64,
        path: &Arc<str>,
        (result, error): (Value, Option<FlowError>),
    ) {
        let has_failed = error.is_some();
        let prompt = self.prompts.remove(&started);
        self.push(
            time,
            Some(path.clone()),
            EventKind::EffectFinished {
                effect: EffectKind::Model,
                ordinal: 0,
                started: Some(started),
                request: None,
                result: result.clone(),
                error,
                memoized: false,
                dispatch: None,
            },
        );
        if has_failed {
            return;
        }
        if let Some(others) = result["otherChoices"].as_array() {
            let count = others.len() + 1;
            let text =
                format!("the model gave {count} choices: the first is the answer, the others are in otherChoices");
            self.push(time, Some(path.clone()), EventKind::Logged { level: "info".to_owned(), text });
        }
        if let Some(text) = result["reasoning"].as_str() {
            let summary = json!([{ "type": "reasoning_text", "text": text }]);
            self.add_item(time, path, "reasoning", Map::from_iter([("summary".to_owned(), summary)]));
        }
        if let Some(text) = result.get("text") {
            self.add_item(time, path, "message", said("assistant", "output_text", text));
        }
        for tool in result["toolCalls"].as_array().into_iter().flatten() {
            let (id, name) = (tool["id"].as_str().unwrap_or_default(), &tool["name"]);
            let call = json!({
                "callId": id, "name": name, "alias": name, "arguments": tool["args"].to_string(),
                "generatorBlock": generator,
            });
            let payload = Map::from_iter([("blockName".to_owned(), name.clone()), ("toolCall".to_owned(), call)]);
            let seq = self.add_item(time, path, "block_tool_output", payload);
            let (path, name, args) = (path.clone(), name.clone(), tool["args"].clone());
            let open = OpenTool { seq, path, name, args, prompt };
            if id.is_empty() {
                self.unnumbered_tools.push_back(open);
            } else {
                self.tools.insert(id.to_owned(), open);
            }
        }
        self.answer = answer(&result).or(self.answer.take());
    }
}

/// A hash of each beginning of a prompt, by which the prompts that go on with it are known.
fn prefixes(messages: &[Value]) -> impl Iterator<Item = blake3::Hash> {
    messages
        .iter()
        .scan(blake3::Hasher::new(), |hasher, message| Some(hasher.update(message.to_string().as_bytes()).finalize()))
}

fn parts(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages.iter().filter_map(|message| message["content"].as_array()).flatten()
}

/// What a part of a prompt says that a tool returned.
fn output_of(part: &Value) -> Value {
    part["output"].get("value").unwrap_or(&part["output"]).clone()
}

/// What a model answered, as its block's output.
pub(super) fn answer(result: &Value) -> Option<Value> {
    let found = ["structuredOutput", "text"].iter().find_map(|name| result.get(*name));
    found.cloned().or_else(|| result.get("toolCalls").map(|calls| json!({ "toolCalls": calls })))
}

/// The payload of a message.
fn said(role: &str, kind: &str, content: &Value) -> Map<String, Value> {
    let parts = match content {
        Value::String(text) => json!([{ "type": kind, "text": text }]),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match (&part["type"], &part["text"]) {
                (Value::String(known), Value::String(text)) if known == "text" => json!({ "type": kind, "text": text }),
                _ => part.clone(),
            })
            .collect(),
        other => json!([{ "type": kind, "text": other.to_string() }]),
    };
    Map::from_iter([("role".to_owned(), role.into()), ("content".to_owned(), parts)])
}
