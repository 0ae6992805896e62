//! Log records that tell of a span what was said in it: some SDKs send the messages of a model's call so.
//!
//! A record becomes a span that has only this record, which is put together with the span itself. Every other record is
//! skipped and counted.

use std::collections::HashMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use serde_json::{Map, Value};

use super::wire::Kind;
use super::{Decoded, TraceId, json, protobuf};
use crate::foreign::span::{ArrivedSpan, SpanEvent, span_id};

/// What the names of such records begin with.
const NAMES: &str = "gen_ai.";
/// Older SDKs have the name in an attribute.
const NAME: &str = "event.name";

/// Reads a call of log records as protobuf.
pub(crate) fn protobuf_logs(body: &[u8]) -> Result<Decoded, String> {
    let of_call = |call: ExportLogsServiceRequest| {
        let scopes = call.resource_logs.into_iter().flat_map(|all| all.scope_logs);
        decoded(scopes.flat_map(|scope| scope.log_records).map(of_protobuf))
    };
    protobuf::read_call(Kind::Logs, body, "not an OTLP logs call", of_call)
}

/// Reads the `resourceLogs` of a call as JSON.
pub(crate) fn json_logs(all: &[Value]) -> Decoded {
    let scopes = all.iter().filter_map(|all| all["scopeLogs"].as_array()).flatten();
    decoded(scopes.filter_map(|scope| scope["logRecords"].as_array()).flatten().map(of_json))
}

/// The records of a call: those of one span are one span here.
fn decoded(records: impl Iterator<Item = Option<(TraceId, ArrivedSpan)>>) -> Decoded {
    let mut decoded = Decoded::default();
    let mut places: HashMap<(TraceId, u64), usize> = HashMap::new();
    for record in records {
        let Some((trace, span)) = record else {
            decoded.skipped += 1;
            continue;
        };
        match places.get(&(trace, span.id)) {
            Some(at) => decoded.spans[*at].1.records.extend(span.records),
            None => {
                places.insert((trace, span.id), decoded.spans.len());
                decoded.spans.push((trace, span));
            }
        }
    }
    decoded
}

fn of_protobuf(record: LogRecord) -> Option<(TraceId, ArrivedSpan)> {
    let trace = <[u8; 16]>::try_from(&*record.trace_id).ok().map(u128::from_be_bytes)?;
    let span = <[u8; 8]>::try_from(&*record.span_id).ok().map(u64::from_be_bytes)?;
    let at = if record.time_unix_nano > 0 { record.time_unix_nano } else { record.observed_time_unix_nano };
    let attributes = protobuf::object(record.attributes);
    let body = match record.body {
        Some(AnyValue { value: Some(any_value::Value::KvlistValue(fields)) }) => protobuf::object(fields.values).into(),
        body => body.map_or(Value::Null, protobuf::value),
    };
    of_parts((trace, span), at, &record.event_name, attributes, body)
}

fn of_json(record: &Value) -> Option<(TraceId, ArrivedSpan)> {
    let trace = record["traceId"].as_str().filter(|id| id.len() == 32);
    let trace = trace.and_then(|id| u128::from_str_radix(id, 16).ok())?;
    let span = record["spanId"].as_str().and_then(span_id)?;
    let mut times = ["timeUnixNano", "observedTimeUnixNano"].iter().filter_map(|name| json::unsigned(&record[*name]));
    let at = times.find(|time| *time > 0).unwrap_or(0);
    let name = record["eventName"].as_str().unwrap_or_default();
    of_parts((trace, span), at, name, json::object(&record["attributes"], 0), json::any(&record["body"], 0))
}

/// A record as a span with only it; none if it tells nothing of a span's messages.
fn of_parts(
    (trace, span): (TraceId, u64),
    at: u64,
    name: &str,
    mut attributes: Map<String, Value>,
    body: Value,
) -> Option<(TraceId, ArrivedSpan)> {
    let named = attributes.get(NAME).and_then(Value::as_str);
    let name = if name.is_empty() { named.unwrap_or_default() } else { name }.to_owned();
    if trace == 0 || span == 0 || !name.starts_with(NAMES) {
        return None;
    }
    attributes.shift_remove(NAME);
    match body {
        Value::Object(fields) => attributes.extend(fields),
        Value::Null => {}
        text => drop(attributes.insert("content".to_owned(), text)),
    }
    let records = vec![SpanEvent { at, name, attributes }];
    let empty = Arc::new(Value::Object(Map::new()));
    Some((trace, ArrivedSpan { id: span, records, resource: empty.clone(), scope: empty, ..ArrivedSpan::default() }))
}
