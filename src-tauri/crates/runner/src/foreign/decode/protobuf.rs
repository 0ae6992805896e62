//! Spans as protobuf.

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Map, Value, json};

use super::wire::{Kind, mended_call};
use super::{Decoded, TraceId, open_form};
use crate::foreign::exact::{self, Marks};
use crate::foreign::span::{ArrivedSpan, SpanEvent, SpanStatus, put};

/// Reads a call. An error says what is wrong with it.
pub(crate) fn protobuf(body: &[u8]) -> Result<Decoded, String> {
    read_call(Kind::Spans, body, "not an OTLP trace call", of_call)
}

/// Reads a call. What cannot be read of it is mended or left out if that is possible.
pub(super) fn read_call<C: Message + Default>(
    kind: Kind,
    body: &[u8],
    wrong: &str,
    of_call: impl FnOnce(C) -> Decoded,
) -> Result<Decoded, String> {
    let error = match C::decode(body) {
        Ok(call) => return Ok(of_call(call)),
        Err(error) => error,
    };
    let again = mended_call(kind, body).and_then(|mended| Some((C::decode(&*mended.body).ok()?, mended)));
    let Some((call, mended)) = again else { return Err(format!("{wrong}: {error}")) };
    let mut decoded = of_call(call);
    decoded.leave_out(mended.left_out, "a span is nested deeper than 30 levels, or is not a span");
    if mended.is_replaced {
        decoded.mark_replaced();
    }
    Ok(decoded)
}

fn of_call(call: ExportTraceServiceRequest) -> Decoded {
    let mut decoded = Decoded::default();
    for all in call.resource_spans {
        let resource = all.resource.unwrap_or_default();
        let dropped = resource.dropped_attributes_count;
        let exact_resource = shared_exact(&resource.attributes, &all.schema_url, dropped);
        let resource = Arc::new(Value::Object(object(resource.attributes)));
        for of_scope in all.scope_spans {
            let scope = of_scope.scope.unwrap_or_default();
            let exact = shared_exact(&scope.attributes, &of_scope.schema_url, scope.dropped_attributes_count);
            let parts = (scope.name, scope.version, object(scope.attributes));
            let scope = Arc::new(exact::scope(parts, exact, exact_resource.clone()));
            for span in of_scope.spans {
                match read(span, &resource, &scope) {
                    Ok(span) => decoded.spans.push(span),
                    Err(why) => decoded.reject(why),
                }
            }
        }
    }
    decoded
}

fn read(span: Span, resource: &Arc<Value>, scope: &Arc<Value>) -> Result<(TraceId, ArrivedSpan), String> {
    let wrong = |what: &str, bytes: &[u8], right: usize| {
        let name: String = span.name.chars().take(60).collect();
        let count = bytes.len();
        if count == right {
            return format!("span {name:?} has a {what} that is all zero");
        }
        format!("span {name:?} has a {what} of {count} bytes; {right} are needed")
    };
    let trace = <[u8; 16]>::try_from(&*span.trace_id).map(u128::from_be_bytes).ok().filter(|id| *id != 0);
    let trace = trace.ok_or_else(|| wrong("traceId", &span.trace_id, 16))?;
    let id = <[u8; 8]>::try_from(&*span.span_id).map(u64::from_be_bytes).ok().filter(|id| *id != 0);
    let id = id.ok_or_else(|| wrong("spanId", &span.span_id, 8))?;
    let parent = match &*span.parent_span_id {
        [] => None,
        bytes => Some(<[u8; 8]>::try_from(bytes).map_err(|_| wrong("parentSpanId", bytes, 8))?),
    };
    let mut rest = Map::new();
    let exact = exact_of(&span);
    if !span.trace_state.is_empty() {
        rest.insert("traceState".to_owned(), span.trace_state.into());
    }
    let dropped = [
        ("droppedAttributesCount", span.dropped_attributes_count),
        ("droppedEventsCount", span.dropped_events_count),
        ("droppedLinksCount", span.dropped_links_count),
    ];
    rest.extend(dropped.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n.into())));
    if !span.links.is_empty() {
        let link = |link: opentelemetry_proto::tonic::trace::v1::span::Link| {
            let id = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            json!({ "traceId": id(&link.trace_id), "spanId": id(&link.span_id), "attributes": object(link.attributes) })
        };
        rest.insert("links".to_owned(), span.links.into_iter().map(link).collect());
    }
    exact::keep(&mut rest, exact);
    let events = span.events.into_iter().map(|event| SpanEvent {
        at: event.time_unix_nano,
        name: event.name,
        attributes: object(event.attributes),
    });
    let status = span.status.unwrap_or_default();
    let span = ArrivedSpan {
        id,
        parent: parent.map(u64::from_be_bytes).filter(|id| *id != 0),
        name: span.name,
        kind: u64::try_from(span.kind).unwrap_or(0),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        attributes: object(span.attributes),
        events: events.collect(),
        records: Vec::new(),
        status: SpanStatus { code: u64::try_from(status.code).unwrap_or(0), message: status.message },
        rest,
        resource: resource.clone(),
        scope: scope.clone(),
    };
    Ok((trace, open_form(span)))
}

/// What is exact of a resource or a scope.
fn shared_exact(attributes: &[KeyValue], schema: &str, dropped: u32) -> Map<String, Value> {
    let (mut exact, mut marks) = (Map::new(), Marks::default());
    put(&mut exact, "schemaUrl", schema.into());
    put(&mut exact, "droppedAttributesCount", dropped.into());
    marks.protobuf("attributes", attributes);
    marks.into_exact(&mut exact);
    exact
}

/// What is exact of a span.
fn exact_of(span: &Span) -> Map<String, Value> {
    let (mut exact, mut marks) = (Map::new(), Marks::default());
    put(&mut exact, "flags", span.flags.into());
    marks.protobuf("attributes", &span.attributes);
    let mut dropped = Vec::new();
    for (at, event) in span.events.iter().enumerate() {
        marks.protobuf(&format!("events/{at}"), &event.attributes);
        let count = Some(event.dropped_attributes_count).filter(|count| *count > 0);
        dropped.extend(count.map(|count| json!([at, count])));
    }
    put(&mut exact, "droppedOfEvents", dropped.into());
    let mut links = Vec::new();
    for (at, link) in span.links.iter().enumerate() {
        marks.protobuf(&format!("links/{at}"), &link.attributes);
        let mut more = Map::new();
        put(&mut more, "traceState", link.trace_state.as_str().into());
        put(&mut more, "flags", link.flags.into());
        put(&mut more, "droppedAttributesCount", link.dropped_attributes_count.into());
        links.push(more);
    }
    if links.iter().any(|more| !more.is_empty()) {
        exact.insert("links".to_owned(), links.into_iter().map(Value::Object).collect());
    }
    marks.into_exact(&mut exact);
    exact
}

pub(super) fn object(attributes: Vec<KeyValue>) -> Map<String, Value> {
    attributes.into_iter().map(|pair| (pair.key, pair.value.map_or(Value::Null, value))).collect()
}

pub(super) fn value(any: AnyValue) -> Value {
    match any.value {
        None => Value::Null,
        Some(any_value::Value::StringValue(text)) => text.into(),
        Some(any_value::Value::BoolValue(is)) => is.into(),
        Some(any_value::Value::IntValue(number)) => number.into(),
        Some(any_value::Value::DoubleValue(number)) => super::json::double(number),
        Some(any_value::Value::ArrayValue(list)) => list.values.into_iter().map(value).collect(),
        Some(any_value::Value::KvlistValue(list)) => object(list.values).into(),
        Some(any_value::Value::BytesValue(bytes)) => super::json::bytes(&bytes),
        Some(other) => format!("{other:?}").into(),
    }
}
