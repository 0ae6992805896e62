//! A trace on its way out: its spans as they came, with their ids, times, attributes and resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::event::{Event, EventKind};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as ProtoEvent, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::{Map, Value};

use super::span::{ArrivedSpan, SpanEvent};
use super::trace::shared_of;

/// The trace of a foreign request's log.
pub(crate) fn exported(request: &str, events: &[Event]) -> ExportTraceServiceRequest {
    let (resources, scopes) = shared_of(events);
    let trace = bytes_of(request, 16);
    let mut all: Vec<ResourceSpans> = Vec::new();
    let mut last: Option<(u64, u64)> = None;
    for event in events {
        let EventKind::SpanReceived { span: value } = &event.kind else { continue };
        let place = |name: &str| value[name].as_u64().unwrap_or(0);
        let places = (place("resource"), place("scope"));
        let Some(span) = ArrivedSpan::from_json(value.clone(), &resources, &scopes) else { continue };
        if last != Some(places) {
            all.push(group(&span));
            last = Some(places);
        }
        let spans = all.last_mut().and_then(|of_resource| of_resource.scope_spans.last_mut());
        if let Some(of_scope) = spans {
            of_scope.spans.push(proto(&trace, span));
        }
    }
    ExportTraceServiceRequest { resource_spans: all }
}

/// What spans of one resource and scope are in.
fn group(span: &ArrivedSpan) -> ResourceSpans {
    let text = |name: &str| span.scope[name].as_str().unwrap_or_default().to_owned();
    let scope = InstrumentationScope {
        name: text("name"),
        version: text("version"),
        attributes: span.scope["attributes"].as_object().map(pairs).unwrap_or_default(),
        ..InstrumentationScope::default()
    };
    let attributes = span.resource.as_object().map(pairs).unwrap_or_default();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), ..ScopeSpans::default() }];
    let resource = Some(Resource { attributes, ..Resource::default() });
    ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }
}

fn proto(trace: &[u8], span: ArrivedSpan) -> Span {
    let event = |event: &SpanEvent| ProtoEvent {
        time_unix_nano: event.at,
        name: event.name.clone(),
        attributes: pairs(&event.attributes),
        ..ProtoEvent::default()
    };
    let events = span.all_events().map(event).collect();
    let rest = |name: &str| span.rest.get(name).unwrap_or(&Value::Null);
    let count = |name: &str| rest(name).as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    let link = |link: &Value| Link {
        trace_id: bytes_of(link["traceId"].as_str().unwrap_or_default(), 16),
        span_id: bytes_of(link["spanId"].as_str().unwrap_or_default(), 8),
        attributes: link["attributes"].as_object().map(pairs).unwrap_or_default(),
        ..Link::default()
    };
    Span {
        trace_id: trace.to_vec(),
        span_id: span.id.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        trace_state: rest("traceState").as_str().unwrap_or_default().to_owned(),
        kind: i32::try_from(span.kind).unwrap_or(0),
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: pairs(&span.attributes),
        dropped_attributes_count: count("droppedAttributesCount"),
        dropped_events_count: count("droppedEventsCount"),
        dropped_links_count: count("droppedLinksCount"),
        links: rest("links").as_array().into_iter().flatten().map(link).collect(),
        status: Some(Status {
            code: i32::try_from(span.status.code).unwrap_or(0),
            message: span.status.message.clone(),
        }),
        events,
        name: span.name,
        ..Span::default()
    }
}

/// The bytes that hexadecimal digits are; none if they are not so many.
fn bytes_of(hex: &str, count: usize) -> Vec<u8> {
    let pair = |at: usize| hex.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..count).map(pair).collect::<Option<_>>().unwrap_or_default()
}

fn pairs(fields: &Map<String, Value>) -> Vec<KeyValue> {
    fields
        .iter()
        .map(|(key, of)| KeyValue { key: key.clone(), value: Some(value(of)), ..KeyValue::default() })
        .collect()
}

fn value(of: &Value) -> AnyValue {
    let value = match of {
        Value::Null => None,
        Value::Bool(is) => Some(any_value::Value::BoolValue(*is)),
        Value::String(text) => Some(any_value::Value::StringValue(text.clone())),
        Value::Number(number) => Some(match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => any_value::Value::IntValue(number),
            (None, Some(number)) => any_value::Value::DoubleValue(number),
            (None, None) => any_value::Value::StringValue(number.to_string()),
        }),
        Value::Array(items) => {
            Some(any_value::Value::ArrayValue(ArrayValue { values: items.iter().map(value).collect() }))
        }
        Value::Object(fields) => Some(match of_bytes(fields) {
            Some(bytes) => any_value::Value::BytesValue(bytes),
            None => any_value::Value::KvlistValue(KeyValueList { values: pairs(fields) }),
        }),
    };
    AnyValue { value }
}

/// The bytes that JSON has not, if a value is how they are kept.
fn of_bytes(fields: &Map<String, Value>) -> Option<Vec<u8>> {
    let text = fields.get("base64").filter(|_| fields.len() == 1)?.as_str()?;
    STANDARD.decode(text).ok()
}
