//! What a span says of itself, read by the table of its emitter.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::messages::{self, call, opened};
use super::span::ArrivedSpan;
use super::tables::{Keys, Place, Role, Table, first};

/// What a span is, without a copy of anything that it holds: this is known of all spans of a trace at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outline {
    /// The table of its emitter, if one recognizes it.
    table: Option<&'static Table>,
    pub(super) role: Role,
    /// Whether it says what a model used.
    pub(super) has_usage: bool,
    pub(super) has_session: bool,
    pub(super) has_user: bool,
}

/// What a span says, in our words.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
    pub(super) tool_call_id: Option<String>,
    pub(super) call: Option<Call>,
}

/// A call of a model, as the log records one.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Value,
    pub(super) result: Value,
}

impl Outline {
    pub(super) fn of(span: &ArrivedSpan) -> Outline {
        let Some(table) = Table::of(span) else { return Outline::default() };
        let has_usage = !usage(table, &span.attributes).is_empty();
        let has = |keys: &Keys| first(&span.attributes, keys).is_some_and(Value::is_string);
        Outline {
            table: Some(table),
            role: table.role(&span.attributes),
            has_usage,
            has_session: has(&table.session),
            has_user: has(&table.user),
        }
    }

    /// The emitter whose conventions it follows, and which version of them.
    pub(super) fn emitter(&self) -> Option<(&'static str, &'static str)> {
        self.table.map(|table| (&*table.name, &*table.version))
    }

    /// What its block is called, if not as the span.
    pub(super) fn name<'s>(&self, span: &'s ArrivedSpan) -> Option<&'s str> {
        self.text(span, |table| &table.tool_name).filter(|_| self.role == Role::Tool)
    }

    pub(super) fn session(&self, span: &ArrivedSpan) -> Option<String> {
        self.text(span, |table| &table.session).map(str::to_owned)
    }

    pub(super) fn user(&self, span: &ArrivedSpan) -> Option<String> {
        self.text(span, |table| &table.user).map(str::to_owned)
    }

    fn text<'s>(&self, span: &'s ArrivedSpan, keys: impl Fn(&'static Table) -> &'static Keys) -> Option<&'s str> {
        first(&span.attributes, keys(self.table?))?.as_str()
    }
}

impl Facts {
    pub(super) fn of(span: &ArrivedSpan, outline: &Outline) -> Facts {
        let Some(table) = outline.table else { return Facts::default() };
        let attributes = &span.attributes;
        let tool = |value: Option<&Value>| value.map(opened);
        let mut facts = Facts {
            input: tool(first(attributes, &table.input)),
            output: tool(first(attributes, &table.output)),
            tool_call_id: first(attributes, &table.tool_call_id).and_then(Value::as_str).map(str::to_owned),
            call: None,
        };
        if outline.role == Role::Model {
            facts.call = Some(model_call(table, span, usage(table, attributes)));
        } else if outline.role == Role::Agent {
            let all = first(attributes, &table.conversation).map(|all| messages::messages(all, None));
            let all = all
                .unwrap_or_else(|| [found(&table.input_messages, span), found(&table.output_messages, span)].concat());
            let said = |role: &str| all.iter().rfind(|message| message["role"] == role).map(spoken);
            facts.input = facts.input.or_else(|| said("user"));
            facts.output = facts.output.or_else(|| said("assistant"));
        }
        facts
    }
}

/// The text of a message, or its content if it is not all text.
fn spoken(message: &Value) -> Value {
    let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    if texts.is_empty() { message["content"].clone() } else { texts.concat().into() }
}

fn usage(table: &Table, attributes: &Map<String, Value>) -> Map<String, Value> {
    let keys = [
        ("promptTokens", &table.prompt_tokens),
        ("completionTokens", &table.completion_tokens),
        ("cacheReadInputTokens", &table.cache_read_input_tokens),
        ("cacheCreationInputTokens", &table.cache_creation_input_tokens),
    ];
    let count = |value: &Value| value.as_u64().or_else(|| Some(value.as_f64().filter(|n| *n >= 0.0)? as u64));
    let found = keys.into_iter().filter_map(|(name, keys)| Some((name, first(attributes, keys).and_then(count)?)));
    found.map(|(name, count)| (name.to_owned(), count.into())).collect()
}

fn model_call(table: &Table, span: &ArrivedSpan, usage: Map<String, Value>) -> Call {
    let attributes = &span.attributes;
    let text = |keys: &Keys| first(attributes, keys).and_then(Value::as_str).map(str::to_owned);
    let (asked, answered) = (text(&table.asked), text(&table.answered));
    let mut request = Map::new();
    request.insert("generator".to_owned(), span.name.as_str().into());
    request.insert("model".to_owned(), asked.or_else(|| answered.clone()).unwrap_or_default().into());
    let system = first(attributes, &table.system).map(|system| messages::messages(system, Some("system")));
    let mut all = system.unwrap_or_default();
    // Some lists hold the answer, too.
    all.extend(found(&table.input_messages, span).into_iter().filter(|message| message.get("isAnswer").is_none()));
    for message in all.iter_mut().filter_map(Value::as_object_mut) {
        message.shift_remove("finishReason");
    }
    name_results(&mut all);
    request.insert("messages".to_owned(), all.into());
    let tools = found_tools(&table.tools, span);
    if !tools.is_empty() {
        request.insert("tools".to_owned(), tools.into());
    }
    for (name, keys) in &table.named {
        if let Some(value) = first(attributes, keys) {
            request.insert(name.clone(), value.clone());
        }
    }
    if let Some(Value::Object(parameters)) = first(attributes, &table.parameters).map(opened) {
        const KNOWN: [&str; 4] = ["model", "messages", "tools", "generator"];
        request.extend(parameters.into_iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())));
    }
    let said = found(&table.output_messages, span);
    let said = said.iter().rev().take_while(|message| message["role"] == "assistant").collect::<Vec<_>>();
    let mut result = Map::new();
    let mut calls: Vec<Value> = Vec::new();
    for message in said.into_iter().rev() {
        let parts = match &message["content"] {
            Value::Array(parts) => parts.clone(),
            content => vec![json!({ "type": "text", "text": content })],
        };
        for part in parts {
            match part["type"].as_str() {
                Some("text") => push_text(&mut result, "text", &part["text"]),
                Some("reasoning") => push_text(&mut result, "reasoning", &part["text"]),
                Some("tool-call") => {
                    calls.push(json!({ "id": part["toolCallId"], "name": part["toolName"], "args": part["args"] }))
                }
                Some("object") => drop(result.insert("structuredOutput".to_owned(), part["value"].clone())),
                _ => {}
            }
        }
        if let Some(reason) = message.get("finishReason") {
            result.insert("finishReason".to_owned(), reason.clone());
        }
    }
    if !calls.is_empty() {
        result.insert("toolCalls".to_owned(), calls.into());
    }
    if !usage.is_empty() {
        result.insert("usage".to_owned(), usage.into());
    }
    result.extend(answered.map(|model| ("model".to_owned(), model.into())));
    let reason = first(attributes, &table.finish).map(opened);
    let reason = reason.and_then(|reason| reason.as_str().or_else(|| reason[0].as_str()).map(str::to_owned));
    result.extend(reason.map(|reason| ("finishReason".to_owned(), reason.into())));
    Call { request: request.into(), result: result.into() }
}

/// Gives results of tools the name of their tool, where only its call has that.
fn name_results(messages: &mut [Value]) {
    let mut names: HashMap<String, Value> = HashMap::new();
    let lists = messages.iter_mut().filter_map(|message| message.get_mut("content")?.as_array_mut());
    for part in lists.flatten() {
        let id = part["toolCallId"].as_str().unwrap_or_default().to_owned();
        if part["type"] == "tool-call" {
            names.insert(id, part["toolName"].clone());
        } else if part["type"] == "tool-result"
            && part["toolName"] == ""
            && let Some(name) = names.get(&id)
        {
            part["toolName"] = name.clone();
        }
    }
}

fn push_text(result: &mut Map<String, Value>, name: &str, text: &Value) {
    let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
    match result.get_mut(name) {
        Some(Value::String(known)) => known.push_str(text),
        _ => drop(result.insert(name.to_owned(), text.into())),
    }
}

/// The messages at the first place that has some.
fn found(places: &[Place], span: &ArrivedSpan) -> Vec<Value> {
    places.iter().map(|place| at(place, span)).find(|messages| !messages.is_empty()).unwrap_or_default()
}

fn at(place: &Place, span: &ArrivedSpan) -> Vec<Value> {
    let attributes = &span.attributes;
    let all = |value: Option<&Value>, role: &Option<String>| {
        value.map(|value| messages::messages(value, role.as_deref())).unwrap_or_default()
    };
    match place {
        Place::List { key, role } => all(Some(&messages::list(attributes, key).into()), role),
        Place::Json { key, role } => all(attributes.get(key), role),
        Place::Items { .. } => Vec::new(),
        Place::Event { key, field, role } => {
            let event = span.events.iter().find(|event| event.name == *key);
            all(event.and_then(|event| event.attributes.get(field)), role)
        }
        Place::Events { roles } => {
            let of_event = |event: &super::span::SpanEvent| {
                let role = roles.get(&event.name)?;
                messages::messages(&event.attributes.clone().into(), Some(role)).into_iter().next()
            };
            span.events.iter().filter_map(of_event).collect()
        }
        Place::Parts { role, text, reasoning, calls, object } => {
            let mut parts: Vec<Value> = Vec::new();
            let text_part = |kind: &str, keys: &Keys| {
                first(attributes, keys).and_then(Value::as_str).map(|text| json!({ "type": kind, "text": text }))
            };
            parts.extend(text_part("reasoning", reasoning));
            parts.extend(text_part("text", text));
            if let Some(Value::Array(all)) = first(attributes, calls).map(opened) {
                parts.extend(all.iter().filter_map(call));
            }
            parts.extend(first(attributes, object).map(|value| json!({ "type": "object", "value": opened(value) })));
            if parts.is_empty() { Vec::new() } else { vec![json!({ "role": role, "content": parts })] }
        }
    }
}

/// The tools that a model was offered, as `{ name, description, parameters }`.
fn found_tools(places: &[Place], span: &ArrivedSpan) -> Vec<Value> {
    let listed = |place: &Place| -> Vec<Value> {
        match place {
            Place::List { key, .. } => messages::list(&span.attributes, key),
            Place::Json { key, .. } | Place::Items { key } => match span.attributes.get(key).map(opened) {
                Some(Value::Array(all)) => all.iter().map(opened).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    };
    let all = places.iter().map(listed).find(|tools| !tools.is_empty()).unwrap_or_default();
    let tool = |value: &Value| {
        let value = value.get("tool").map_or(value, |inner| inner);
        let value = value.get("json_schema").map_or_else(|| value.clone(), opened);
        let value = value.get("function").cloned().unwrap_or(value);
        let name = value["name"].as_str()?.to_owned();
        let mut made = Map::from_iter([("name".to_owned(), Value::from(name))]);
        made.extend(value.get("description").map(|words| ("description".to_owned(), words.clone())));
        let schema = ["parameters", "inputSchema", "input_schema"].iter().find_map(|name| value.get(*name));
        made.extend(schema.map(|schema| ("parameters".to_owned(), opened(schema))));
        Some(Value::Object(made))
    };
    all.iter().filter_map(tool).collect()
}
