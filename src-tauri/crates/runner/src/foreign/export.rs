//! A trace on its way out: its spans as they came, with their ids, times, attributes and resources.

use std::collections::HashMap;

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

use super::exact::{EXACT, Exact, count};
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
            of_scope.spans.push(proto(&trace, &span));
        }
    }
    ExportTraceServiceRequest { resource_spans: all }
}

/// What spans of one resource and scope are in.
fn group(span: &ArrivedSpan) -> ResourceSpans {
    let text = |name: &str| span.scope[name].as_str().unwrap_or_default().to_owned();
    let exact = Exact::of(span.scope.get(EXACT));
    let of_resource = Exact::of(exact.get("resource"));
    let shared = |of: Option<&Map<String, Value>>, exact: &Exact<'_>| {
        of.map(|fields| pairs(fields, exact, "/attributes")).unwrap_or_default()
    };
    let scope = InstrumentationScope {
        name: text("name"),
        version: text("version"),
        attributes: shared(span.scope["attributes"].as_object(), &exact),
        dropped_attributes_count: exact.count("droppedAttributesCount"),
    };
    let resource = Resource {
        attributes: shared(span.resource.as_object(), &of_resource),
        dropped_attributes_count: of_resource.count("droppedAttributesCount"),
        ..Resource::default()
    };
    let scope_spans =
        vec![ScopeSpans { scope: Some(scope), schema_url: exact.text("schemaUrl"), ..ScopeSpans::default() }];
    ResourceSpans { resource: Some(resource), scope_spans, schema_url: of_resource.text("schemaUrl") }
}

fn proto(trace: &[u8], span: &ArrivedSpan) -> Span {
    let exact = Exact::of(span.rest.get(EXACT));
    let dropped = exact.get("droppedOfEvents").and_then(Value::as_array).into_iter().flatten();
    let dropped: HashMap<u64, u32> = dropped.filter_map(|pair| Some((pair[0].as_u64()?, count(&pair[1])))).collect();
    let event = |(at, event): (usize, &SpanEvent)| ProtoEvent {
        time_unix_nano: event.at,
        name: event.name.clone(),
        attributes: pairs(&event.attributes, &exact, &format!("/events/{at}")),
        dropped_attributes_count: dropped.get(&(at as u64)).copied().unwrap_or(0),
    };
    // Log records come behind the events, whose places these are.
    let events = span.all_events().enumerate().map(event).collect();
    let rest = |name: &str| span.rest.get(name).unwrap_or(&Value::Null);
    let more = |at: usize, name: &str| exact.get("links").map_or(&Value::Null, |links| &links[at][name]);
    let link = |(at, link): (usize, &Value)| Link {
        trace_id: bytes_of(link["traceId"].as_str().unwrap_or_default(), 16),
        span_id: bytes_of(link["spanId"].as_str().unwrap_or_default(), 8),
        attributes: link["attributes"]
            .as_object()
            .map(|fields| pairs(fields, &exact, &format!("/links/{at}")))
            .unwrap_or_default(),
        trace_state: more(at, "traceState").as_str().unwrap_or_default().to_owned(),
        flags: count(more(at, "flags")),
        dropped_attributes_count: count(more(at, "droppedAttributesCount")),
    };
    Span {
        trace_id: trace.to_vec(),
        span_id: span.id.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        trace_state: rest("traceState").as_str().unwrap_or_default().to_owned(),
        flags: exact.count("flags"),
        kind: i32::try_from(span.kind).unwrap_or(0),
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: pairs(&span.attributes, &exact, "/attributes"),
        dropped_attributes_count: count(rest("droppedAttributesCount")),
        dropped_events_count: count(rest("droppedEventsCount")),
        dropped_links_count: count(rest("droppedLinksCount")),
        links: rest("links").as_array().into_iter().flatten().enumerate().map(link).collect(),
        status: Some(Status {
            code: i32::try_from(span.status.code).unwrap_or(0),
            message: span.status.message.clone(),
        }),
        events,
        name: span.name.clone(),
    }
}

/// The bytes that hexadecimal digits are; none if they are not so many.
fn bytes_of(hex: &str, count: usize) -> Vec<u8> {
    let pair = |at: usize| hex.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..count).map(pair).collect::<Option<_>>().unwrap_or_default()
}

/// Attributes at a place, as they came.
fn pairs(fields: &Map<String, Value>, exact: &Exact<'_>, place: &str) -> Vec<KeyValue> {
    let pair = |(key, of): (&String, &Value)| {
        let value = Some(value(of, exact, &format!("{place}/{key}")));
        KeyValue { key: key.clone(), value, ..KeyValue::default() }
    };
    fields.iter().map(pair).collect()
}

fn value(of: &Value, exact: &Exact<'_>, place: &str) -> AnyValue {
    let double = match of {
        Value::Number(number) => number.as_f64(),
        // Some senders write numbers as texts.
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    // The JSON of the protocol's library has no number that is none, and would write null.
    let double = double.filter(|double: &f64| double.is_finite());
    if let Some(double) = double.filter(|_| exact.is_double(place)) {
        return AnyValue { value: Some(any_value::Value::DoubleValue(double)) };
    }
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
            let item = |(at, item): (usize, &Value)| value(item, exact, &format!("{place}/{at}"));
            Some(any_value::Value::ArrayValue(ArrayValue { values: items.iter().enumerate().map(item).collect() }))
        }
        Value::Object(fields) => Some(match of_bytes(fields).filter(|_| !exact.has_fields(place)) {
            Some(bytes) => any_value::Value::BytesValue(bytes),
            None => any_value::Value::KvlistValue(KeyValueList { values: pairs(fields, exact, place) }),
        }),
    };
    AnyValue { value }
}

/// The bytes that JSON has not, if a value is how they are kept.
fn of_bytes(fields: &Map<String, Value>) -> Option<Vec<u8>> {
    let text = fields.get("base64").filter(|_| fields.len() == 1)?.as_str()?;
    STANDARD.decode(text).ok()
}
