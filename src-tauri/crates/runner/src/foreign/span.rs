//! One span as it arrived, and as the log holds it.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::packed::hash;

/// A span. Times are nanoseconds since the epoch; 0 if the span does not have that time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArrivedSpan {
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    /// Internal, server, client, …, as OTLP numbers them.
    pub(crate) kind: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: Map<String, Value>,
    pub(crate) events: Vec<SpanEvent>,
    /// What log records say of it.
    pub(crate) records: Vec<SpanEvent>,
    pub(crate) status: SpanStatus,
    /// Links, trace state and counts of what was dropped, in the names of OTLP; and what is kept only to leave again.
    pub(crate) rest: Map<String, Value>,
    pub(crate) resource: Arc<Value>,
    pub(crate) scope: Arc<Value>,
}

/// Something that happened at an instant of a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpanEvent {
    pub(crate) at: u64,
    pub(crate) name: String,
    pub(crate) attributes: Map<String, Value>,
}

/// How a span ended: 0 unset, 1 ok, 2 error.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpanStatus {
    pub(crate) code: u64,
    pub(crate) message: String,
}

/// The code of a span that failed.
pub(crate) const ERROR: u64 = 2;

/// An id of a span as it is written.
pub(crate) fn hex(id: u64) -> String {
    format!("{id:016x}")
}

/// Reads an id of 8 bytes that is not zero.
pub(crate) fn span_id(text: &str) -> Option<u64> {
    let id = (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok())??;
    Some(id).filter(|id| *id != 0)
}

/// Puts a value into an object, unless it is empty.
pub(super) fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let is_empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Bool(_) => false,
    };
    if !is_empty {
        fields.insert(name.to_owned(), value);
    }
}

impl SpanEvent {
    /// A hash of all of it.
    pub(super) fn hash(&self) -> u64 {
        hash(&json!([self.at, self.name, self.attributes]).to_string())
    }
}

/// A time as OTLP writes it in JSON.
fn nanos(at: u64) -> Value {
    if at == 0 { Value::Null } else { at.to_string().into() }
}

fn time(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_u64()).unwrap_or(0)
}

impl ArrivedSpan {
    /// What happened in it, by itself and by log records.
    pub(crate) fn all_events(&self) -> impl Iterator<Item = &SpanEvent> {
        self.events.iter().chain(&self.records)
    }

    /// Whether it is only what log records say of a span.
    pub(crate) fn is_records(&self) -> bool {
        self.start == 0 && self.end == 0 && self.name.is_empty() && !self.records.is_empty()
    }

    /// Adds log records that it does not have, in the order of their times, and then of their arrival.
    pub(super) fn add_records(&mut self, records: Vec<SpanEvent>) {
        let mut known: HashSet<u64> = self.records.iter().map(SpanEvent::hash).collect();
        self.records.extend(records.into_iter().filter(|record| known.insert(record.hash())));
        self.records.sort_by_key(|record| record.at);
    }

    /// As the log holds it: in the names of OTLP, with attributes as plain JSON. `resource` and `scope` are the places
    /// of these in the lists of the request's first event.
    pub(crate) fn to_json(&self, resource: usize, scope: usize) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "spanId", hex(self.id).into());
        put(&mut fields, "parentSpanId", self.parent.map(hex).into());
        put(&mut fields, "name", self.name.as_str().into());
        put(&mut fields, "kind", self.kind.into());
        put(&mut fields, "startTimeUnixNano", nanos(self.start));
        put(&mut fields, "endTimeUnixNano", nanos(self.end));
        put(&mut fields, "attributes", self.attributes.clone().into());
        let event = |event: &SpanEvent| {
            let mut fields = Map::new();
            put(&mut fields, "timeUnixNano", nanos(event.at));
            put(&mut fields, "name", event.name.as_str().into());
            put(&mut fields, "attributes", event.attributes.clone().into());
            Value::Object(fields)
        };
        put(&mut fields, "events", self.events.iter().map(event).collect());
        put(&mut fields, "logRecords", self.records.iter().map(event).collect());
        if self.status != SpanStatus::default() {
            let mut status = Map::new();
            put(&mut status, "code", self.status.code.into());
            put(&mut status, "message", self.status.message.as_str().into());
            fields.insert("status".to_owned(), status.into());
        }
        fields.insert("resource".to_owned(), resource.into());
        fields.insert("scope".to_owned(), scope.into());
        fields.extend(self.rest.clone());
        Value::Object(fields)
    }

    /// Reads what [`to_json`](Self::to_json) made; `None` if it cannot have made it.
    pub(crate) fn from_json(value: Value, resources: &[Arc<Value>], scopes: &[Arc<Value>]) -> Option<ArrivedSpan> {
        let Value::Object(fields) = value else { return None };
        let text = |value: Value| if let Value::String(text) = value { text } else { String::new() };
        let object = |value: Value| if let Value::Object(fields) = value { fields } else { Map::new() };
        let shared = |all: &[Arc<Value>], place: &Value| {
            let place = place.as_u64().and_then(|at| usize::try_from(at).ok());
            place.and_then(|at| all.get(at)).cloned().unwrap_or_else(|| Arc::new(json!({})))
        };
        let event = |event: Value| {
            let mut fields = object(event);
            let mut take = |name: &str| fields.get_mut(name).map(Value::take).unwrap_or_default();
            SpanEvent {
                at: time(&take("timeUnixNano")),
                name: text(take("name")),
                attributes: object(take("attributes")),
            }
        };
        let mut span = ArrivedSpan::default();
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("spanId", value) => span.id = value.as_str().and_then(span_id)?,
                ("parentSpanId", value) => span.parent = value.as_str().and_then(span_id),
                ("name", value) => span.name = text(value),
                ("kind", value) => span.kind = value.as_u64().unwrap_or(0),
                ("startTimeUnixNano", value) => span.start = time(&value),
                ("endTimeUnixNano", value) => span.end = time(&value),
                ("attributes", value) => span.attributes = object(value),
                ("events", Value::Array(events)) => span.events = events.into_iter().map(event).collect(),
                ("logRecords", Value::Array(all)) => span.records = all.into_iter().map(event).collect(),
                ("status", Value::Object(mut fields)) => {
                    let message = fields.get_mut("message").map(Value::take).unwrap_or_default();
                    let code = fields.get("code").and_then(Value::as_u64).unwrap_or(0);
                    span.status = SpanStatus { code, message: text(message) };
                }
                ("resource", value) => span.resource = shared(resources, &value),
                ("scope", value) => span.scope = shared(scopes, &value),
                (_, value) => drop(span.rest.insert(name, value)),
            }
        }
        (span.id != 0).then_some(span)
    }
}
