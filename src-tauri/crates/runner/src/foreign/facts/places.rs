//! Finds the messages of a call and the tools that it offered in a span.

use serde_json::{Map, Value, json};

use crate::foreign::messages::{self, call, opened};
use crate::foreign::span::{ArrivedSpan, SpanEvent};
use crate::foreign::tables::{Keys, Place, first};

/// A span, whose attributes may be completed by one of its events.
#[derive(Clone, Copy)]
pub(super) struct Told<'s> {
    pub(super) span: &'s ArrivedSpan,
    pub(super) attributes: &'s Map<String, Value>,
}

/// Returns the messages at the first place that has some, and whether each of them is a separate answer.
pub(super) fn found(places: &[Place], told: Told<'_>) -> (Vec<Value>, bool) {
    let has_choices = |place: &Place| matches!(place, Place::Json { choices: true, .. } | Place::Events { .. });
    places
        .iter()
        .map(|place| (at(place, told), has_choices(place)))
        .find(|(messages, _)| !messages.is_empty())
        .unwrap_or_default()
}

fn at(place: &Place, told: Told<'_>) -> Vec<Value> {
    let attributes = told.attributes;
    let all = |value: Option<&Value>, role: &Option<String>| {
        value.map(|value| messages::messages(value, role.as_deref())).unwrap_or_default()
    };
    match place {
        Place::List { key, role } => all(Some(&messages::list(attributes, key).into()), role),
        Place::Json { key, field: None, role, .. } => all(attributes.get(key), role),
        Place::Json { key, field: Some(field), role, .. } => all(inside(attributes, key, field).as_ref(), role),
        Place::Items { .. } => Vec::new(),
        Place::Event { key, field, role } => {
            let event = told.span.all_events().find(|event| event.name == *key);
            all(event.and_then(|event| event.attributes.get(field)), role)
        }
        Place::Events { roles } => {
            let of_event = |event: &SpanEvent| {
                let role = roles.get(&event.name)?;
                messages::messages(&event.attributes.clone().into(), Some(role)).into_iter().next()
            };
            told.span.all_events().filter_map(of_event).collect()
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

/// A field of the object in an attribute.
fn inside(attributes: &Map<String, Value>, key: &str, field: &str) -> Option<Value> {
    opened(attributes.get(key)?).get_mut(field).map(Value::take)
}

fn opened_items(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(all)) => all.iter().map(opened).collect(),
        _ => Vec::new(),
    }
}

/// The tools that a model was offered, as `{ name, description, parameters }`.
pub(super) fn found_tools(places: &[Place], attributes: &Map<String, Value>) -> Vec<Value> {
    let listed = |place: &Place| -> Vec<Value> {
        match place {
            Place::List { key, .. } => messages::list(attributes, key),
            Place::Json { key, field, .. } => {
                let value = match field {
                    Some(field) => inside(attributes, key, field),
                    None => attributes.get(key).map(opened),
                };
                opened_items(value)
            }
            Place::Items { key } => opened_items(attributes.get(key).map(opened)),
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
