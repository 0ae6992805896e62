//! What was said: the calls of models, the messages of users and models, and the calls of tools.

use std::sync::Arc;

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{EventKind, Seq};
use engine::item::{ItemStatus, NewItem};
use serde_json::{Map, Value, json};

use super::LogOfTrace;
use crate::foreign::arrangement::Arrangement;
use crate::foreign::packed::PackedSpan;
use crate::foreign::tables::Role;

/// Which spans are the calls of models. Several spans may tell of one call, each with the tokens that it took: the
/// innermost one that has them counts, or the outermost one if none has.
pub(super) fn counted_calls(arrangement: &Arrangement, spans: &[PackedSpan]) -> Vec<bool> {
    let is_model = |at: usize| spans[at].outline.role == Role::Model;
    let mut has_counted_inside = vec![false; spans.len()];
    for at in arrangement.order.iter().rev().copied() {
        let Some(outer) = arrangement.placed[at].around else { continue };
        has_counted_inside[outer] |= has_counted_inside[at] || is_model(at) && spans[at].outline.has_usage;
    }
    let mut is_call = vec![false; spans.len()];
    let mut is_in_call = vec![false; spans.len()];
    for at in arrangement.order.iter().copied() {
        let outer = arrangement.placed[at].around;
        is_in_call[at] = outer.is_some_and(|outer| is_in_call[outer] || is_call[outer]);
        is_call[at] = is_model(at) && !has_counted_inside[at] && !is_in_call[at];
    }
    is_call
}

impl LogOfTrace<'_> {
    /// A call of a model begins: what is new in its messages was said, or was the result of a tool. Returns the event
    /// with which it begins.
    pub(super) fn ask(&mut self, time: i64, path: Arc<str>, request: Value) -> Seq {
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let turn = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |last| last + 1);
        for message in messages {
            for part in message["content"].as_array().into_iter().flatten() {
                if part["type"] == "tool-result"
                    && let Some(id) = part["toolCallId"].as_str()
                {
                    let value = part["output"].get("value").unwrap_or(&part["output"]).clone();
                    self.tool_done(id, time, Ok(value));
                }
            }
        }
        for message in messages.iter().skip(turn).filter(|message| message["role"] == "user") {
            if self.said.insert(blake3::hash(message["content"].to_string().as_bytes())) {
                self.add_item(time, &path, "message", said("user", "input_text", &message["content"]));
            }
        }
        let seq = self.last + 1;
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

    pub(super) fn tool_done(&mut self, id: &str, time: i64, result: Result<Value, FlowError>) {
        let Some((of, path)) = self.tools.remove(id) else { return };
        let (status, field, value) = match result {
            Ok(value) => (ItemStatus::Completed, "output", value),
            Err(error) => (ItemStatus::Failed, "error", json!({ "name": error.name, "message": error.message })),
        };
        let patch = Map::from_iter([(field.to_owned(), value)]);
        self.push(time, Some(path), EventKind::ItemDone { of, status, patch });
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
        if let Some(text) = result["reasoning"].as_str() {
            let content = json!([{ "type": "reasoning_text", "text": text }]);
            self.add_item(time, path, "reasoning", Map::from_iter([("content".to_owned(), content)]));
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
            if !id.is_empty() {
                self.tools.insert(id.to_owned(), (seq, path.clone()));
            }
        }
        self.answer = answer(&result).or(self.answer.take());
    }
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
