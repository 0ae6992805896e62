//! One span as it arrived, and as the log holds it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

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
    pub(crate) status: SpanStatus,
    /// Links, trace state and counts of what was dropped, in the names of OTLP.
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
fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
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

/// A time as OTLP writes it in JSON.
fn nanos(at: u64) -> Value {
    if at == 0 { Value::Null } else { at.to_string().into() }
}

fn time(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_u64()).unwrap_or(0)
}

impl ArrivedSpan {
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
        let events = self.events.iter().map(|event| {
            let mut fields = Map::new();
            put(&mut fields, "timeUnixNano", nanos(event.at));
            put(&mut fields, "name", event.name.as_str().into());
            put(&mut fields, "attributes", event.attributes.clone().into());
            Value::Object(fields)
        });
        put(&mut fields, "events", events.collect());
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
    pub(crate) fn from_json(value: &Value, resources: &[Arc<Value>], scopes: &[Arc<Value>]) -> Option<ArrivedSpan> {
        const NAMED: [&str; 11] = [
            "spanId",
            "parentSpanId",
            "name",
            "kind",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "attributes",
            "events",
            "status",
            "resource",
            "scope",
        ];
        let fields = value.as_object()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let place = |name: &str| fields.get(name)?.as_u64()?.try_into().ok();
        let shared = |all: &[Arc<Value>], name: &str| {
            let found = place(name).and_then(|at: usize| all.get(at));
            found.cloned().unwrap_or_else(|| Arc::new(json!({})))
        };
        let events = value["events"].as_array().into_iter().flatten().map(|event| SpanEvent {
            at: time(&event["timeUnixNano"]),
            name: text(&event["name"]),
            attributes: object(&event["attributes"]),
        });
        Some(ArrivedSpan {
            id: span_id(value["spanId"].as_str()?)?,
            parent: value["parentSpanId"].as_str().and_then(span_id),
            name: text(&value["name"]),
            kind: value["kind"].as_u64().unwrap_or(0),
            start: time(&value["startTimeUnixNano"]),
            end: time(&value["endTimeUnixNano"]),
            attributes: object(&value["attributes"]),
            events: events.collect(),
            status: SpanStatus {
                code: value["status"]["code"].as_u64().unwrap_or(0),
                message: text(&value["status"]["message"]),
            },
            rest: fields
                .iter()
                .filter(|(name, _)| !NAMED.contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            resource: shared(resources, "resource"),
            scope: shared(scopes, "scope"),
        })
    }
}
