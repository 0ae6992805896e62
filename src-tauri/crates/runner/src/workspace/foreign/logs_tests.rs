//! Logs that another process writes meanwhile, and logs that cannot be read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use engine::log::Lease;
use serde_json::json;
use store::{Options, Store};

use super::*;
use crate::foreign::decode::{json_log_records, json_spans};

const ID: &str = "01010101010101010101010101010101";

fn spans(id: u64, parent: u64, (start, end): (u64, u64)) -> Vec<(TraceId, PackedSpan)> {
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    let attributes = json!([{ "key": "gen_ai.operation.name", "value": { "stringValue": "chat" } }]);
    let span = json!({ "traceId": ID, "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "step",
        "startTimeUnixNano": (start * 1_000_000).to_string(), "endTimeUnixNano": (end * 1_000_000).to_string(),
        "attributes": attributes });
    let call = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [span] }] }] });
    json_spans(call.to_string().as_bytes()).unwrap().packed()
}

fn records(id: u64, words: &str) -> Vec<(TraceId, PackedSpan)> {
    let record = json!({ "traceId": ID, "spanId": format!("{id:016x}"), "eventName": "gen_ai.user.message",
        "timeUnixNano": "5000000", "body": { "stringValue": words } });
    let call = json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [record] }] }] });
    json_log_records(call.to_string().as_bytes()).unwrap().packed()
}

fn stored(store: &Store) -> String {
    let (_, events) = store.log_of(ID).unwrap().unwrap();
    serde_json::to_string(&events).unwrap()
}

fn write(logs: &mut ForeignLogs, spans: Vec<(TraceId, PackedSpan)>) {
    let added = logs.add(spans);
    assert!(added.faults.is_empty() && added.unread.is_empty(), "{added:?}");
    added.changed.into_iter().for_each(|id| logs.write(id).unwrap());
}

#[test]
fn log_records_of_a_known_span_survive_another_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Arc::new(Store::open(folder.path().join("logs.db"), Options { create: true, ..Options::default() }).unwrap());
    let mut first = ForeignLogs::new(store.clone(), "first".to_owned());
    let mut second = ForeignLogs::new(store.clone(), "second".to_owned());
    write(&mut first, spans(1, 0, (1, 90)));
    // The log is now another one than the first writer knows, so that its next one is fenced.
    write(&mut second, spans(2, 1, (10, 20)));
    write(&mut first, records(1, "what was asked"));
    let log = stored(&store);
    assert!(log.contains("what was asked"), "the log record is lost: {log}");
    assert_eq!(log.matches("span_received").count(), 2, "{log}");
    // And so are records of both writers.
    write(&mut second, records(1, "and more"));
    let log = stored(&store);
    assert!(log.contains("what was asked") && log.contains("and more"), "{log}");
    // Once more changes nothing.
    assert!(first.add(records(1, "what was asked")).changed.is_empty());
}

#[test]
fn a_log_that_was_indexed_since_it_was_read_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        Arc::new(Store::open(folder.path().join("logs.db"), Options { create: true, ..Options::default() }).unwrap())
    };
    let (writer, other) = (open(), open());
    write(&mut ForeignLogs::new(writer.clone(), "first".to_owned()), spans(1, 0, (1, 90)));
    let old = other.replacement(ID).unwrap().unwrap();
    // A store that is closed indexes what it wrote.
    drop(writer);
    let (_, events) = other.log_of(ID).unwrap().unwrap();
    let count = events.len();
    let answer = other.replace(ID, &Lease::first("first"), events, old);
    futures_executor::block_on(answer).unwrap().unwrap();
    assert_eq!(other.stats().unwrap().events, count as u64);
}
