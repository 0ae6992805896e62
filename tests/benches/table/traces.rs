//! Traces of other programs: how fast spans are taken in, how soon they are shown, and what they take in the database.

use std::time::{Duration, Instant};

use runner::{Durability, Receiver};
use serde_json::json;
use tests::bench::Place;
use tests::spans::{call, chat, said, span, trace_id};

use super::figure::{Figure, Table};
use super::trial::{bytes_on_disk, median_ms, ms, open};

/// The spans of a long trace, and of one call, as SDKs send them.
const SPANS: u64 = 100_000;
const OF_CALL: u64 = 512;
/// Many short traces.
const TRACES: u64 = 2_000;
const OF_TRACE: u64 = 10;
const GOES: usize = 5;

pub(crate) fn measure(table: &mut Table) {
    one_long_trace(table);
    many_traces(table);
}

/// Spans of a trace: every tenth calls a model, and each has ten inside it.
fn spans(trace: u64, count: u64) -> Vec<serde_json::Value> {
    let one = |id: u64| {
        let parent = if id == 1 { 0 } else { (id / 10).max(1) };
        let fields = match id % 10 {
            0 => chat(&[said("user", &format!("question {id}"))], &[said("assistant", &format!("answer {id}"))]),
            _ => json!({ "number": id }),
        };
        span(trace, (id, parent), &format!("span {}", id % 50), (id, id + count), &fields)
    };
    (1..=count).map(one).collect()
}

/// Sends calls one after the other, as an SDK does: again if the receiver is busy. Returns the milliseconds until all
/// were answered.
fn send(receiver: &Receiver, calls: &[String]) -> f64 {
    let url = format!("{}/v1/traces", receiver.row().endpoint);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let begin = Instant::now();
    for call in calls {
        loop {
            let answer = agent.post(&url).header("Content-Type", "application/json").send(call.as_bytes());
            match answer.expect("it answers").status().as_u16() {
                200 => break,
                503 => std::thread::sleep(Duration::from_millis(50)),
                other => panic!("{other}"),
            }
        }
    }
    ms(begin.elapsed())
}

fn one_long_trace(table: &mut Table) {
    let place = Place::new();
    let workspace = open(&place, Durability::Process);
    let calls: Vec<String> = spans(1, SPANS).chunks(OF_CALL as usize).map(call).collect();
    let sent: usize = calls.iter().map(String::len).sum();
    let receiver = workspace.receive_spans(0).unwrap_or_else(|fault| panic!("{fault}"));
    let received = send(&receiver, &calls) / 1_000.0;
    table.push(Figure::below("100,000 spans of a trace received", received, "s", 5.0));
    // Ends when the log is written.
    drop(receiver);
    drop(workspace);
    let time = median_ms(GOES, |_| {
        let workspace = open(&place, Durability::Process);
        let head = workspace.open_view(&trace_id(1)).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(head.counts.blocks, SPANS);
    });
    table.push(Figure::below("first rows of 100,000 spans", time, "ms", 300.0));
    let stored = bytes_on_disk(&place) / sent as f64;
    table.push(Figure::below("bytes stored for a byte of spans", stored, "B", 2.0));
}

fn many_traces(table: &mut Table) {
    let place = Place::new();
    let workspace = open(&place, Durability::Process);
    let all: Vec<_> = (1..=TRACES).flat_map(|trace| spans(trace, OF_TRACE)).collect();
    let calls: Vec<String> = all.chunks(OF_CALL as usize).map(call).collect();
    let begin = Instant::now();
    let receiver = workspace.receive_spans(0).unwrap_or_else(|fault| panic!("{fault}"));
    send(&receiver, &calls);
    drop(receiver);
    let rate = (TRACES * OF_TRACE) as f64 / begin.elapsed().as_secs_f64();
    table.push(Figure::above("spans of short traces that are taken in", rate, "/s", 5_000.0));
}
