//! Spans as a collector writes them into a file, and the requests that they become.

use serde_json::{Value, json};

use crate::bench::Place;

/// A time as nanoseconds since 1970.
const T0: u64 = 1_795_941_000_000_000_000;

/// The id of a trace.
pub fn trace_id(trace: u64) -> String {
    format!("{trace:032x}")
}

/// Attributes in the form of OTLP. What is no text, number or truth is JSON in a text, as most emitters have it.
pub fn attributes(fields: &Value) -> Value {
    let value = |value: &Value| match value {
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Number(number) if number.is_i64() => json!({ "intValue": number.to_string() }),
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    let pairs = fields.as_object().into_iter().flatten();
    pairs.map(|(key, of)| json!({ "key": key, "value": value(of) })).collect()
}

/// A span; 0 is no parent, and times are milliseconds.
pub fn span(trace: u64, (id, parent): (u64, u64), name: &str, (start, end): (u64, u64), fields: &Value) -> Value {
    let nanos = |ms: u64| (T0 + ms * 1_000_000).to_string();
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    json!({
        "traceId": trace_id(trace), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": name, "kind": 1,
        "startTimeUnixNano": nanos(start), "endTimeUnixNano": nanos(end), "attributes": attributes(fields),
    })
}

/// An event of a span.
pub fn event(name: &str, fields: &Value) -> Value {
    json!({ "timeUnixNano": T0.to_string(), "name": name, "attributes": attributes(fields) })
}

/// A call with these spans, as a line of a file.
pub fn call(spans: &[Value]) -> String {
    let resource = json!({ "attributes": attributes(&json!({ "service.name": "svc" })) });
    let scope = json!({ "name": "tester", "version": "1" });
    let line = json!({
        "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }],
    });
    format!("{line}\n")
}

/// A place into which lines were imported.
pub fn imported(lines: &str) -> Place {
    let place = Place::new();
    place.write("trace.jsonl", lines);
    assert_eq!(place.get("import trace.jsonl")["imported"], true);
    place
}

/// All model calls of a request, in order.
pub fn model_calls(place: &Place, request: &str) -> Vec<Value> {
    let shown = place.get(&format!("show {request}"));
    let mut calls = Vec::new();
    for block in shown["blocks"].as_array().expect("it is there") {
        let path = block["path"].as_str().expect("it is there");
        let detail = place.run(&["block", request, path, "--json"]).json();
        calls.extend(detail["modelCalls"].as_array().expect("it is there").iter().cloned());
    }
    calls
}

/// A message of the GenAI conventions: a role and a text.
pub fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "parts": [{ "type": "text", "content": text }] })
}

/// The call of a tool as a part of a message; without an id if that is empty.
pub fn wanted(id: &str, tool: &str, given: &Value) -> Value {
    let mut part = json!({ "type": "tool_call", "name": tool, "arguments": given });
    if !id.is_empty() {
        part["id"] = id.into();
    }
    json!({ "role": "assistant", "parts": [part] })
}

/// The result of a call of a tool.
pub fn returned(id: &str, value: &Value) -> Value {
    let mut part = json!({ "type": "tool_call_response", "response": value });
    if !id.is_empty() {
        part["id"] = id.into();
    }
    json!({ "role": "tool", "parts": [part] })
}

/// The attributes of a call of a model, with 10 tokens in and 5 out.
pub fn chat(asked: &[Value], answered: &[Value]) -> Value {
    json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": asked, "gen_ai.output.messages": answered,
    })
}

/// Attributes, with others in addition.
pub fn with(mut fields: Value, more: &Value) -> Value {
    let more = more.as_object().cloned().unwrap_or_default();
    fields.as_object_mut().expect("an object").extend(more);
    fields
}
