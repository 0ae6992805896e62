//! Converts messages of models from the forms that emitters write to our form: a role, and a text or a list of parts.
//!
//! The forms are those of the providers, of LangChain, of the Vercel AI SDK and of the OpenTelemetry conventions. They
//! are recognised by their fields, because one emitter uses several. Must not know which attributes have messages.

use std::collections::BTreeMap;

use engine::json::parse_within;
use serde_json::{Map, Value, json};

/// The event with the answer, in lists that also have the prompt.
const CHOICE: &str = "gen_ai.choice";
/// The attribute in which the Azure SDK writes the message of an event.
const EVENT_CONTENT: &str = "gen_ai.event.content";
/// Deeper lists are not searched.
const MAX_DEPTH: usize = 24;
/// A JSON text that nests deeper stays a text.
const MAX_TEXT_DEPTH: usize = 128;

/// Returns the messages in a value. A message without a role gets `role`.
pub(super) fn messages(value: &Value, role: Option<&str>) -> Vec<Value> {
    let mut found = Vec::new();
    collect(value, role.unwrap_or("user"), 0, &mut found);
    found
}

/// A name with a special meaning in JSON libraries such as ours; a text that contains it is not parsed.
const NO_NAME: &str = "$serde_json::private";

/// Parses a text that is a JSON object or list.
pub(super) fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) && !text.contains(NO_NAME) => {
            parse_within(text, MAX_TEXT_DEPTH).unwrap_or_else(|_| value.clone())
        }
        value => value.clone(),
    }
}

/// Parses an attribute that is always JSON, so that a text in quotes is parsed, too.
pub(super) fn opened_json(value: &Value) -> Value {
    let text = value.as_str().filter(|text| text.trim_start().starts_with('"'));
    let text = text.and_then(|text| parse_within(text, MAX_TEXT_DEPTH).ok());
    text.unwrap_or_else(|| opened(value))
}

fn collect(value: &Value, role: &str, depth: usize, found: &mut Vec<Value>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) if !text.is_empty() => match opened(value) {
            Value::String(_) => found.push(json!({ "role": role, "content": text })),
            inner => collect(&inner, role, depth + 1, found),
        },
        Value::Array(items) if !items.is_empty() && items.iter().all(is_part) => {
            found.extend(message(&json!({ "role": role, "content": items }), role));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, role, depth + 1, found)),
        Value::Object(fields) => {
            if let Some(role) = role_of_item(fields) {
                add_item(value, role, found);
                return;
            }
            let list = ["messages", "generations", "choices"].iter().find_map(|name| fields.get(*name));
            let is_message = ["role", "content", "parts", "message", "kwargs", "data", "tool_calls", EVENT_CONTENT]
                .iter()
                .any(|name| fields.contains_key(*name))
                || fields.get("text").is_some_and(Value::is_string);
            let inner = list.filter(|_| !fields.contains_key("role"));
            if inner.is_none() && is_message {
                found.extend(message(value, role));
                return;
            }
            let inner = inner.or_else(|| {
                let mut named = ["prompt", "completion", "input", "output"].iter().filter_map(|name| fields.get(*name));
                named.find(|value| !value.is_null())
            });
            let Some(inner) = inner else { return };
            if let Some(system) = fields.get("system").or_else(|| fields.get("instructions")) {
                collect(system, "system", depth + 1, found);
            }
            collect(inner, role, depth + 1, found);
        }
        _ => {}
    }
}

/// The role of an item in a list that has calls, results and reasoning besides messages, as OpenAI's Responses do.
fn role_of_item(fields: &Map<String, Value>) -> Option<&'static str> {
    if fields.contains_key("role") {
        return None;
    }
    match fields.get("type")?.as_str()? {
        "function_call" | "reasoning" => Some("assistant"),
        "function_call_output" => Some("tool"),
        _ => None,
    }
}

/// Adds such an item. The reasoning and the calls of one answer become one message.
fn add_item(item: &Value, role: &str, found: &mut Vec<Value>) {
    let Some(mut made) = message(&json!({ "role": role, "content": [item] }), role) else { return };
    let last = found.last_mut().filter(|last| role == "assistant" && last["role"] == role);
    match (last.and_then(|last| last["content"].as_array_mut()), made["content"].as_array_mut()) {
        (Some(parts), Some(more)) => parts.append(more),
        _ => found.push(made),
    }
}

/// Whether a value is a part of a message's content rather than a message.
fn is_part(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    let kind = fields.get("type").and_then(Value::as_str);
    let is_around = ["message", "role", "kwargs", "data"].iter().any(|name| fields.contains_key(*name));
    let is_message = matches!(kind, Some("human" | "ai" | "system" | "tool" | "message"));
    (kind.is_some() || fields.contains_key("message_content")) && !is_around && !is_message
}

fn role_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "system" | "developer" | "systemmessage" | "systemmessagechunk" => "system",
        "user" | "human" | "humanmessage" | "humanmessagechunk" => "user",
        "assistant" | "ai" | "model" | "aimessage" | "aimessagechunk" => "assistant",
        "tool" | "function" | "toolmessage" | "toolmessagechunk" => "tool",
        _ => return None,
    })
}

/// Converts a message to our form; `None` if it is empty.
fn message(value: &Value, role: &str) -> Option<Value> {
    let fields = value.as_object()?;
    // Envelopes: `{ message: { … } }`, LangChain's `{ id: […], kwargs: { … } }` and `{ type, data: { … } }`.
    let class = fields.get("id").and_then(|id| id.as_array()?.last()?.as_str()).and_then(role_of);
    let by_type = fields.get("type").and_then(Value::as_str).and_then(role_of);
    for name in ["message", "kwargs", "data", EVENT_CONTENT] {
        // In attributes of an event, the inside of the envelope is a JSON text.
        if let Some(inner @ Value::Object(_)) = fields.get(name).map(opened) {
            let mut inner = message(&inner, class.or(by_type).unwrap_or(role))?;
            let about = fields.get("generation_info").and_then(Value::as_object).unwrap_or(fields);
            if let Some(reason) = about.get("finish_reason").filter(|reason| reason.is_string()) {
                inner["finishReason"] = reason.clone();
            }
            if fields.get("event.name").is_some_and(|name| name == CHOICE) {
                inner["isAnswer"] = true.into();
            }
            return Some(inner);
        }
    }
    // An envelope `{ text, message }` was read above; what follows reads a message without an envelope.
    let said = fields.get("role").and_then(Value::as_str).and_then(role_of);
    let by_event = fields.get("event.name").and_then(Value::as_str).and_then(|name| role_of(name.split('.').nth(1)?));
    let role = said.or(by_event).or(by_type).or(class).unwrap_or(role);
    let mut parts: Vec<Value> = Vec::new();
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let call_id = ["tool_call_id", "toolCallId", "call_id"].iter().map(|name| text(name)).find(|id| !id.is_empty());
    let contents = ["parts", "content", "contents", "text"].iter().find_map(|name| {
        fields.get(*name).filter(|content| !content.is_null() && **content != "" && **content != json!([]))
    });
    match contents.map(opened_list) {
        None => {}
        Some(content) if role == "tool" && !has_results(&content) => {
            let id = call_id.unwrap_or_else(|| text("id"));
            parts.push(result(id, text("name"), &content));
        }
        Some(Value::Array(items)) => parts.extend(items.iter().filter_map(part)),
        Some(content) => parts.extend(part(&content)),
    }
    let calls = fields.get("tool_calls").or_else(|| fields.get("toolCalls"));
    if let Some(Value::Array(calls)) = calls.map(opened) {
        let known: Vec<Value> = parts.iter().map(|part| part["toolCallId"].clone()).collect();
        let calls = calls.iter().filter_map(call).filter(|call| !known.contains(&call["toolCallId"]));
        parts.extend(calls.collect::<Vec<_>>());
    }
    if let Some(reasoning) = fields.get("reasoning_content").and_then(Value::as_str) {
        parts.insert(0, json!({ "type": "reasoning", "text": reasoning }));
    }
    if parts.is_empty() {
        return None;
    }
    let mut made = Map::new();
    // Some emitters give a tool's result the role of the user.
    let role = if parts.iter().all(|part| part["type"] == "tool-result") { "tool" } else { role };
    made.insert("role".to_owned(), role.into());
    let is_text = |part: &Value| part["type"] == "text";
    let content = match &parts[..] {
        [only] if is_text(only) => only["text"].clone(),
        _ => parts.into(),
    };
    made.insert("content".to_owned(), content);
    let reason = fields.get("finish_reason").or_else(|| fields.get("finishReason"));
    if let Some(reason) = reason.filter(|reason| reason.is_string()) {
        made.insert("finishReason".to_owned(), reason.clone());
    }
    if fields.get("event.name").is_some_and(|name| name == CHOICE) {
        made.insert("isAnswer".to_owned(), true.into());
    }
    Some(made.into())
}

/// Parses a content that is a JSON text of a list of parts.
fn opened_list(value: &Value) -> Value {
    match opened(value) {
        Value::Array(items) if items.iter().all(|item| is_part(item) || item.is_string()) => items.into(),
        _ => value.clone(),
    }
}

fn has_results(content: &Value) -> bool {
    const RESULTS: [&str; 5] =
        ["tool-result", "tool_result", "tool_call_response", "function_call_output", "tool-return"];
    let is_result = |part: &Value| part["type"].as_str().is_some_and(|kind| RESULTS.contains(&kind));
    content.as_array().is_some_and(|parts| parts.iter().any(is_result))
}

fn field<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| fields.get(*name)).filter(|value| !value.is_null())
}

fn field_text<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> &'a str {
    field(fields, names).and_then(Value::as_str).unwrap_or_default()
}

/// Converts a part of a content to our form.
fn part(value: &Value) -> Option<Value> {
    let Some(fields) = value.as_object() else {
        return value.as_str().filter(|text| !text.is_empty()).map(|text| json!({ "type": "text", "text": text }));
    };
    if let Some(inner) = fields.get("message_content") {
        return part(inner);
    }
    let kind = field_text(fields, &["type", "part_kind", "kind"]);
    match kind {
        "text" | "input_text" | "output_text" | "" if field(fields, &["text", "content"]).is_some() => {
            let text = field_text(fields, &["text", "content"]);
            (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
        }
        "reasoning" | "thinking" => {
            let text = field_text(fields, &["text", "content", "thinking", "reasoning"]);
            let summary = fields.get("summary").and_then(Value::as_array).into_iter().flatten();
            let summary: Vec<&str> = summary.filter_map(|part| part["text"].as_str()).collect();
            let text = if text.is_empty() { summary.join("\n\n") } else { text.to_owned() };
            Some(json!({ "type": "reasoning", "text": text }))
        }
        "tool_call" | "tool-call" | "tool_use" | "function_call" => call(value),
        "tool_call_response" | "tool-result" | "tool_result" | "function_call_output" | "tool-return" => {
            let id = field_text(fields, &["toolCallId", "tool_use_id", "call_id", "tool_call_id", "id"]);
            let content = field(fields, &["output", "result", "response", "content"]).cloned().unwrap_or_default();
            Some(result(id, field_text(fields, &["toolName", "name", "tool_name"]), &content))
        }
        _ => Some(value.clone()),
    }
}

/// Converts a tool call to our form.
pub(super) fn call(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    if let Some(inner) = fields.get("tool_call") {
        return call(inner);
    }
    let function = fields.get("function").and_then(Value::as_object);
    let name = function.map_or("", |function| field_text(function, &["name"]));
    let name = if name.is_empty() { field_text(fields, &["name", "toolName", "tool_name"]) } else { name };
    if name.is_empty() {
        return None;
    }
    let given = function.and_then(|function| function.get("arguments"));
    let given = given.or_else(|| field(fields, &["arguments", "args", "input"]));
    let args = given.map_or_else(|| json!({}), opened);
    let id = field_text(fields, &["toolCallId", "call_id", "tool_call_id", "id"]);
    Some(json!({ "type": "tool-call", "toolCallId": id, "toolName": name, "args": args }))
}

fn result(id: &str, name: &str, content: &Value) -> Value {
    let output = match content {
        Value::String(text) => json!({ "type": "text", "value": text }),
        Value::Object(fields) if fields.contains_key("value") && fields.contains_key("type") => content.clone(),
        Value::Array(parts) if parts.len() == 1 && parts[0]["text"].is_string() => {
            json!({ "type": "text", "value": parts[0]["text"] })
        }
        other => json!({ "type": "json", "value": other }),
    };
    json!({ "type": "tool-result", "toolCallId": id, "toolName": name, "output": output })
}

/// Builds the objects of the attributes `key.N.…`, in order of `N`.
pub(super) fn list(attributes: &Map<String, Value>, key: &str) -> Vec<Value> {
    let mut root = Numbered::default();
    for (name, value) in attributes {
        if let Some(rest) = name.strip_prefix(key).and_then(|rest| rest.strip_prefix('.')) {
            root.put(rest, value, 0);
        }
    }
    match root.into_value() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// A value that is built from dotted paths.
#[derive(Default)]
struct Numbered {
    value: Option<Value>,
    parts: BTreeMap<Part, Numbered>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Name(String),
}

impl Numbered {
    fn put(&mut self, path: &str, value: &Value, depth: usize) {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        // The rest of a path that is too deep becomes one name.
        let (first, rest) = if depth > MAX_DEPTH { (path, None) } else { (first, rest) };
        let part = first.parse().map_or_else(|_| Part::Name(first.to_owned()), Part::Number);
        let inner = self.parts.entry(part).or_default();
        match rest {
            Some(rest) => inner.put(rest, value, depth + 1),
            None => inner.value = Some(value.clone()),
        }
    }

    fn into_value(self) -> Value {
        if self.parts.is_empty() {
            return self.value.unwrap_or_default();
        }
        if self.parts.keys().all(|part| matches!(part, Part::Number(_))) {
            return self.parts.into_values().map(Numbered::into_value).collect();
        }
        let named = |part| match part {
            Part::Number(number) => number.to_string(),
            Part::Name(name) => name,
        };
        Value::Object(self.parts.into_iter().map(|(part, inner)| (named(part), inner.into_value())).collect())
    }
}
