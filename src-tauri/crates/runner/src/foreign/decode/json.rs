//! Spans as JSON.
//!
//! Numbers of 64 bits may be texts or numbers, and ids are hexadecimal: see "JSON Protobuf Encoding" of OTLP.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::json::{DEFAULT_MAX_DEPTH, parse_within};
use serde_json::{Map, Value, json};

use super::mended::{mended_json, text_of as text_of_bytes};
use super::{Decoded, TraceId, json_logs, open_form};
use crate::foreign::exact::{self, MAX_DEPTH, Marks};
use crate::foreign::span::{ArrivedSpan, SpanEvent, SpanStatus, put, span_id};

/// Reads a file of lines, each a call. Empty lines are skipped. An error names the line.
pub(crate) fn json_lines(bytes: &[u8]) -> Result<Decoded, String> {
    let mut decoded = Decoded::default();
    let lines = bytes.split(|byte| *byte == b'\n');
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let of_line = read_call(line, |_| Ok(()));
        decoded.extend(of_line.map_err(|why| format!("line {}: {why}", at + 1))?);
    }
    Ok(decoded)
}

/// Reads a call of spans. An error says what is wrong with it.
pub(crate) fn json_spans(body: &[u8]) -> Result<Decoded, String> {
    json_call(body, "resourceSpans")
}

/// Reads a call of log records. An error says what is wrong with it.
pub(crate) fn json_log_records(body: &[u8]) -> Result<Decoded, String> {
    json_call(body, "resourceLogs")
}

/// Reads a call. It must have this list; its other lists are skipped and counted.
fn json_call(body: &[u8], needed: &str) -> Result<Decoded, String> {
    const LISTS: [&str; 3] = ["resourceSpans", "resourceLogs", "resourceMetrics"];
    let mut skipped = 0;
    let mut decoded = read_call(body, |call| {
        // A call without a field is an empty one, as it is in protobuf.
        if call.as_object().is_some_and(Map::is_empty) {
            call[needed] = Value::Array(Vec::new());
        }
        if !call.get(needed).is_some_and(Value::is_array) {
            return Err(format!("not an OTLP call of this address: an object with a list \"{needed}\" is needed"));
        }
        if let Some(fields) = call.as_object_mut() {
            for name in LISTS.iter().filter(|name| **name != needed) {
                skipped += u64::from(fields.shift_remove(*name).is_some());
            }
        }
        Ok(())
    })?;
    decoded.skipped += skipped;
    Ok(decoded)
}

/// Reads a call once it is `checked`. What cannot be read of it is mended or left out if that is possible. An error
/// says what is wrong with it.
fn read_call(body: &[u8], checked: impl FnOnce(&mut Value) -> Result<(), String>) -> Result<Decoded, String> {
    let (text, is_lossy) = text_of_bytes(body);
    let (mut is_replaced, mut too_deep) = (is_lossy, 0);
    let mut call = parse_within(&text, DEFAULT_MAX_DEPTH).or_else(|error| {
        let wrong = |error| format!("not JSON: {error}");
        let Some(mended) = mended_json(&text) else { return Err(wrong(error)) };
        is_replaced |= mended.is_replaced;
        too_deep = mended.too_deep;
        parse_within(&mended.text, DEFAULT_MAX_DEPTH).map_err(wrong)
    })?;
    checked(&mut call)?;
    let mut decoded = of_call(&call)?;
    decoded.leave_out(too_deep, &too_deep_reason());
    if is_replaced {
        decoded.mark_replaced();
    }
    Ok(decoded)
}

/// A value in a list is three levels of JSON: the item, its `arrayValue` and the list `values`.
fn too_deep_reason() -> String {
    let values = DEFAULT_MAX_DEPTH / 3;
    format!("a span is nested deeper than {DEFAULT_MAX_DEPTH} levels of JSON, which is about {values} values in lists")
}

fn of_call(call: &Value) -> Result<Decoded, String> {
    let list = |name: &str| call.get(name).and_then(Value::as_array).map(Vec::as_slice);
    let (all, logs, metrics) = (list("resourceSpans"), list("resourceLogs"), list("resourceMetrics"));
    let mut decoded = json_logs(logs.unwrap_or_default());
    if metrics.is_some() {
        decoded.skipped += 1;
    } else if all.is_none() && logs.is_none() {
        return Err("not an OTLP call: an object with a list \"resourceSpans\" is needed".to_owned());
    }
    for of_resource in all.unwrap_or_default() {
        let resource = &of_resource["resource"];
        let exact_resource = shared_exact(resource, &of_resource["schemaUrl"]);
        let resource = Arc::new(Value::Object(object(&resource["attributes"], 0)));
        // Files of older collectors have the former name.
        let scopes = of_resource.get("scopeSpans").or_else(|| of_resource.get("instrumentationLibrarySpans"));
        for of_scope in scopes.and_then(Value::as_array).into_iter().flatten() {
            let scope = &of_scope["scope"];
            let exact = shared_exact(scope, &of_scope["schemaUrl"]);
            let parts = (text_of(&scope["name"]), text_of(&scope["version"]), object(&scope["attributes"], 0));
            let scope = Arc::new(exact::scope(parts, exact, exact_resource.clone()));
            // Those that are nested too deep are null here, and counted already.
            let spans = of_scope["spans"].as_array().into_iter().flatten().filter(|span| !span.is_null());
            for span in spans {
                match read(span, &resource, &scope) {
                    Ok(span) => decoded.spans.push(span),
                    Err(why) => decoded.reject(why),
                }
            }
        }
    }
    Ok(decoded)
}

fn read(span: &Value, resource: &Arc<Value>, scope: &Arc<Value>) -> Result<(TraceId, ArrivedSpan), String> {
    let fields = span.as_object().ok_or("a span is not an object")?;
    let name = text_of(&span["name"]);
    let short: String = name.chars().take(60).collect();
    let wrong = |what: &str, need: &str| format!("span {short:?} has no usable {what}: {need}");
    let trace = span["traceId"].as_str().filter(|text| text.len() == 32);
    let trace = trace.and_then(|text| u128::from_str_radix(text, 16).ok()).filter(|id| *id != 0);
    let trace = trace.ok_or_else(|| wrong("traceId", "32 hexadecimal digits that are not all zero are needed"))?;
    let need = "16 hexadecimal digits that are not all zero are needed";
    let id = span["spanId"].as_str().and_then(span_id).ok_or_else(|| wrong("spanId", need))?;
    let parent = match span["parentSpanId"].as_str().unwrap_or_default() {
        "" | "0000000000000000" => None,
        text => Some(span_id(text).ok_or_else(|| wrong("parentSpanId", need))?),
    };
    let time = |value: &Value| -> Result<u64, String> {
        match value {
            Value::Null => Ok(0),
            Value::String(text) if text.is_empty() => Ok(0),
            value => unsigned(value).ok_or_else(|| wrong("time", "nanoseconds since 1970 are needed")),
        }
    };
    let mut rest = Map::new();
    let is_known = |value: &Value| !matches!(value, Value::Null | Value::Number(_)) || unsigned(value) != Some(0);
    for name in ["traceState", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"] {
        if let Some(value) = fields.get(name).filter(|value| is_known(value) && *value != "") {
            rest.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(links) = span["links"].as_array().filter(|links| !links.is_empty()) {
        let link = |link: &Value| {
            let (trace, span) = (text_of(&link["traceId"]), text_of(&link["spanId"]));
            json!({ "traceId": trace, "spanId": span, "attributes": object(&link["attributes"], 0) })
        };
        rest.insert("links".to_owned(), links.iter().map(link).collect());
    }
    exact::keep(&mut rest, exact_of(span));
    let mut events = Vec::new();
    for event in span["events"].as_array().into_iter().flatten() {
        events.push(SpanEvent {
            at: time(&event["timeUnixNano"])?,
            name: text_of(&event["name"]),
            attributes: object(&event["attributes"], 0),
        });
    }
    let span = ArrivedSpan {
        id,
        parent,
        name,
        kind: number_of(&span["kind"], &["", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]),
        start: time(&span["startTimeUnixNano"])?,
        end: time(&span["endTimeUnixNano"])?,
        attributes: object(&span["attributes"], 0),
        events,
        records: Vec::new(),
        status: SpanStatus {
            code: number_of(&span["status"]["code"], &["UNSET", "OK", "ERROR"]),
            message: text_of(&span["status"]["message"]),
        },
        rest,
        resource: resource.clone(),
        scope: scope.clone(),
    };
    Ok((trace, open_form(span)))
}

/// What is exact of a resource or a scope.
fn shared_exact(of: &Value, schema: &Value) -> Map<String, Value> {
    let (mut exact, mut marks) = (Map::new(), Marks::default());
    put(&mut exact, "schemaUrl", text_of(schema).into());
    put(&mut exact, "droppedAttributesCount", unsigned(&of["droppedAttributesCount"]).into());
    marks.json("attributes", &of["attributes"]);
    marks.into_exact(&mut exact);
    exact
}

/// What is exact of a span.
fn exact_of(span: &Value) -> Map<String, Value> {
    let (mut exact, mut marks) = (Map::new(), Marks::default());
    put(&mut exact, "flags", unsigned(&span["flags"]).into());
    marks.json("attributes", &span["attributes"]);
    let mut dropped = Vec::new();
    for (at, event) in span["events"].as_array().into_iter().flatten().enumerate() {
        marks.json(&format!("events/{at}"), &event["attributes"]);
        let count = unsigned(&event["droppedAttributesCount"]).filter(|count| *count > 0);
        dropped.extend(count.map(|count| json!([at, count])));
    }
    put(&mut exact, "droppedOfEvents", dropped.into());
    let mut links = Vec::new();
    for (at, link) in span["links"].as_array().into_iter().flatten().enumerate() {
        marks.json(&format!("links/{at}"), &link["attributes"]);
        let mut more = Map::new();
        put(&mut more, "traceState", text_of(&link["traceState"]).into());
        for name in ["flags", "droppedAttributesCount"] {
            put(&mut more, name, unsigned(&link[name]).into());
        }
        links.push(more);
    }
    if links.iter().any(|more| !more.is_empty()) {
        exact.insert("links".to_owned(), links.into_iter().map(Value::Object).collect());
    }
    marks.into_exact(&mut exact);
    exact
}

/// The number of an enumeration's value, which some write by its name.
fn number_of(value: &Value, names: &[&str]) -> u64 {
    let by_name = |text: &str| names.iter().position(|name| !name.is_empty() && text.ends_with(name));
    value.as_u64().or_else(|| by_name(value.as_str()?).map(|at| at as u64)).unwrap_or(0)
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn unsigned(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Attributes as a plain object. A name that is there twice has its last value.
pub(super) fn object(attributes: &Value, depth: usize) -> Map<String, Value> {
    let pairs = attributes.as_array().into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), any(&pair["value"], depth))));
    pairs.collect()
}

pub(super) fn any(value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value.to_string().into();
    }
    let Some((name, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else { return Value::Null };
    let integer = || inner.as_i64().or_else(|| inner.as_str()?.parse().ok());
    match name.as_str() {
        "stringValue" | "boolValue" => inner.clone(),
        "intValue" => integer().map_or_else(|| inner.clone(), Value::from),
        "doubleValue" => inner.as_f64().map_or_else(|| inner.clone(), double),
        "arrayValue" => inner["values"].as_array().into_iter().flatten().map(|item| any(item, depth + 1)).collect(),
        "kvlistValue" => object(&inner["values"], depth + 1).into(),
        "bytesValue" => json!({ "base64": inner }),
        _ => value.clone(),
    }
}

/// A number that JSON may not have.
pub(super) fn double(number: f64) -> Value {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}

/// Bytes, which JSON has not.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    json!({ "base64": STANDARD.encode(bytes) })
}
