//! A model call from a received span: its request, and the choices of its answer.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use super::places::{Told, found, found_tools};
use super::{Call, label};
use crate::foreign::messages::{self, opened};
use crate::foreign::tables::{Keys, Role, Table, first};

/// The name of calls of [`Role::Embedding`] among model calls.
pub(crate) const EMBEDDINGS: &str = "embeddings";

/// The model call that a span describes.
pub(super) fn model_call(table: &Table, role: Role, told: Told<'_>, usage: Map<String, Value>) -> Call {
    let attributes = told.attributes;
    let text = |keys: &Keys| first(attributes, keys).and_then(Value::as_str).map(str::to_owned);
    let (asked, answered) = (text(&table.asked), text(&table.answered));
    let mut request = Map::new();
    request.insert("generator".to_owned(), label(table, told.span).into());
    request.insert("model".to_owned(), asked.or_else(|| answered.clone()).unwrap_or_default().into());
    if role == Role::Embedding {
        request.insert("operation".to_owned(), EMBEDDINGS.into());
    }
    let system = first(attributes, &table.system).map(|system| messages::messages(system, Some("system")));
    let mut all = system.unwrap_or_else(|| found(&table.system_messages, told).0);
    // Some lists also contain the answer.
    all.extend(found(&table.input_messages, told).0.into_iter().filter(|message| message.get("isAnswer").is_none()));
    for message in all.iter_mut().filter_map(Value::as_object_mut) {
        message.shift_remove("finishReason");
    }
    name_results(&mut all);
    request.insert("messages".to_owned(), all.into());
    let tools = found_tools(&table.tools, attributes);
    if !tools.is_empty() {
        request.insert("tools".to_owned(), tools.into());
    }
    for (name, keys) in &table.named {
        if let Some(value) = first(attributes, keys) {
            request.insert(name.clone(), value.clone());
        }
    }
    let mut choices = 1;
    if let Some(Value::Object(parameters)) = first(attributes, &table.parameters).map(opened) {
        const KNOWN: [&str; 4] = ["model", "messages", "tools", "generator"];
        choices = parameters.get("n").and_then(Value::as_u64).unwrap_or(choices);
        let said = parameters.into_iter().filter(|(name, value)| !KNOWN.contains(&name.as_str()) && !value.is_null());
        request.extend(said);
    }
    let mut answers = answers(found(&table.output_messages, told), choices > 1).into_iter().map(|one| result(&one));
    let mut result = answers.next().unwrap_or_default();
    let others: Vec<Value> = answers.map(Value::Object).collect();
    if !others.is_empty() {
        result.insert("otherChoices".to_owned(), others.into());
    }
    if !usage.is_empty() {
        result.insert("usage".to_owned(), usage.into());
    }
    let cost = first(attributes, &table.cost).and_then(Value::as_f64).filter(|cost| *cost >= 0.0);
    result.extend(cost.map(|cost| ("cost".to_owned(), cost.into())));
    result.extend(answered.map(|model| ("model".to_owned(), model.into())));
    let reason = first(attributes, &table.finish).map(opened);
    let reason = reason.and_then(|reason| reason.as_str().or_else(|| reason[0].as_str()).map(str::to_owned));
    result.extend(reason.map(|reason| ("finishReason".to_owned(), reason.into())));
    Call { request: request.into(), result: result.into() }
}

/// The answers in the messages of an output, each as a list of messages: usually one, or one per choice if several
/// were requested. Some emitters write the parts of one answer as several messages.
fn answers((mut said, are_choices): (Vec<Value>, bool), are_asked: bool) -> Vec<Vec<Value>> {
    let begin = said.iter().rposition(|message| message["role"] != "assistant").map_or(0, |last| last + 1);
    said.drain(..begin);
    let is_marked = |message: &Value| message.get("isAnswer").is_some();
    let have_marks = said.iter().any(is_marked);
    if have_marks {
        // Messages before the answer in the same list belong to the prompt.
        said.retain(is_marked);
    }
    let have_reasons = || said.iter().all(|message| message.get("finishReason").is_some());
    let are_texts = || said.iter().all(is_text);
    if are_asked || have_marks || have_reasons() || are_choices && are_texts() {
        return said.into_iter().map(|message| vec![message]).collect();
    }
    if said.is_empty() { Vec::new() } else { vec![said] }
}

fn is_text(message: &Value) -> bool {
    match &message["content"] {
        Value::Array(parts) => parts.iter().all(|part| part["type"] == "text"),
        content => content.is_string(),
    }
}

/// One answer, as the log records it.
fn result(said: &[Value]) -> Map<String, Value> {
    let mut result = Map::new();
    let mut calls: Vec<Value> = Vec::new();
    for message in said {
        let parts = match &message["content"] {
            Value::Array(parts) => parts.clone(),
            content => vec![json!({ "type": "text", "text": content })],
        };
        let (mut text, mut reasoning) = (String::new(), String::new());
        for part in parts {
            let words = part["text"].as_str().unwrap_or_default();
            match part["type"].as_str() {
                Some("text") => text.push_str(words),
                Some("reasoning") => reasoning.push_str(words),
                Some("tool-call") => {
                    calls.push(json!({ "id": part["toolCallId"], "name": part["toolName"], "args": part["args"] }))
                }
                Some("object") => drop(result.insert("structuredOutput".to_owned(), part["value"].clone())),
                _ => {}
            }
        }
        add_paragraph(&mut result, "text", &text);
        add_paragraph(&mut result, "reasoning", &reasoning);
        if let Some(reason) = message.get("finishReason") {
            result.insert("finishReason".to_owned(), reason.clone());
        }
    }
    if !calls.is_empty() {
        result.insert("toolCalls".to_owned(), calls.into());
    }
    result
}

/// Adds the text of another message of the same answer as a paragraph.
fn add_paragraph(result: &mut Map<String, Value>, name: &str, text: &str) {
    match result.get_mut(name) {
        _ if text.is_empty() => {}
        Some(Value::String(known)) => {
            known.push_str("\n\n");
            known.push_str(text);
        }
        _ => drop(result.insert(name.to_owned(), text.into())),
    }
}

/// Adds the tool's name to tool results, if only the call has it. Results without an id belong to the calls without an
/// id, in order.
fn name_results(messages: &mut [Value]) {
    let mut names: HashMap<String, Value> = HashMap::new();
    let mut unnumbered: VecDeque<Value> = VecDeque::new();
    let lists = messages.iter_mut().filter_map(|message| message.get_mut("content")?.as_array_mut());
    for part in lists.flatten() {
        let id = part["toolCallId"].as_str().unwrap_or_default().to_owned();
        let is_unnamed = part["toolName"] == "";
        if part["type"] == "tool-call" {
            if id.is_empty() {
                unnumbered.push_back(part["toolName"].clone());
            } else {
                names.insert(id, part["toolName"].clone());
            }
        } else if part["type"] == "tool-result" {
            let name = if id.is_empty() { unnumbered.pop_front() } else { names.get(&id).cloned() };
            if let Some(name) = name.filter(|_| is_unnamed) {
                part["toolName"] = name;
            }
        }
    }
}
