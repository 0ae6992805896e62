//! The parts of a durable step and of reading, each by itself: `cargo bench -p store --bench parts`.
//!
//! The first group has the reference line beside it. What whole processes cost is measured by the table of
//! `tests/benches`; this is where to look when a line of that table moves.

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use engine::event::{Event, EventKind};
use engine::log::{AppendMode, Lease, Log};
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::{Value, json};
use store::{Options, Store};

const REQUEST: &str = "r";
const SEQUENCER: &str = "r:root:0";
/// Steps of the request that instants are read of.
const STEPS: u64 = 10_000;

fn kind(value: Value) -> EventKind {
    serde_json::from_value(value).unwrap()
}

fn event(seq: u64, path: &str, value: Value) -> Event {
    Event { seq, at: 1_700_000_000_000 + seq as i64, path: Some(path.into()), attempt: 0, kind: kind(value) }
}

/// What a request begins with: three events.
fn beginning() -> Vec<Event> {
    let started = json!({
        "kind": "request_started", "flow": "f", "action": "go", "session": "s", "user": "u", "ephemeral": false,
        "code_hash": "0", "codeHash": "0", "input": "undefined", "owner": "o",
    });
    let sequencer = json!({ "kind": "sequencer", "id": SEQUENCER });
    let state = json!({ "done": 0, "notes": "n".repeat(1_000) });
    let mut first = event(1, "root", started);
    first.path = None;
    let chain = json!({ "kind": "block_started", "name": "chain", "block": "sequencer", "input": { "value": 0 } });
    let known = json!({ "kind": "state_initialized", "scope": sequencer, "state": state, "durable": true });
    vec![first, event(2, "root", chain), event(3, "root", known)]
}

/// The events of the n-th step, from 1.
fn step(n: u64) -> Vec<Event> {
    let (path, seq) = (format!("root/step:add {n}"), n * 3 + 1);
    let scope = json!({ "kind": "sequencer", "id": SEQUENCER });
    let change = json!({
        "kind": "state_changed", "scope": scope, "operation": { "op": "increment", "by": { "done": 1 } },
        "value": { "done": n }, "version": n,
    });
    vec![
        event(
            seq,
            &path,
            json!({ "kind": "block_started", "name": "add", "block": "handler", "input": { "value": n } }),
        ),
        event(seq + 1, &path, change),
        event(seq + 2, &path, json!({ "kind": "block_finished", "outcome": "completed", "output": { "value": n } })),
    ]
}

fn open(folder: &std::path::Path) -> Store {
    Store::open(folder.join("parts.db"), Options { create: true, ..Options::default() }).unwrap()
}

fn append(store: &Store, events: Vec<Event>) {
    futures_executor::block_on(store.append(REQUEST, &Lease::first("bench"), events, AppendMode::Committed))
        .unwrap()
        .unwrap();
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    let folder = tempfile::tempdir().unwrap();
    let line = Connection::open(folder.path().join("line.db")).unwrap();
    line.pragma_update(None, "journal_mode", "WAL").unwrap();
    line.pragma_update(None, "synchronous", "NORMAL").unwrap();
    line.execute_batch("CREATE TABLE step (id INTEGER PRIMARY KEY, body TEXT)").unwrap();
    let body = "x".repeat(254);
    group.bench_function("bare commit", |bench| {
        bench.iter(|| {
            line.prepare_cached("BEGIN IMMEDIATE").unwrap().execute(()).unwrap();
            line.prepare_cached("INSERT INTO step (body) VALUES (?1)").unwrap().execute((&body,)).unwrap();
            line.prepare_cached("COMMIT").unwrap().execute(()).unwrap();
        });
    });
    let store = open(folder.path());
    append(&store, beginning());
    let mut n = 0;
    group.bench_function("append", |bench| {
        bench.iter_batched(
            || {
                n += 1;
                step(n)
            },
            |events| append(&store, events),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn instants(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    append(&store, beginning());
    (1..=STEPS).for_each(|n| append(&store, step(n)));
    let scope = ScopeKey::new(ScopeKind::Sequencer, SEQUENCER);
    let mut seq = 1;
    criterion.bench_function("state at an instant", |bench| {
        bench.iter(|| {
            seq = seq * 48_271 % (STEPS * 3);
            black_box(store.state_at(&scope, REQUEST, seq.max(4)).unwrap())
        });
    });
}

fn differences(criterion: &mut Criterion) {
    let row = |n: u64| (format!("row {n}"), json!({ "id": n, "text": format!("a line with the number {}", n * 7919) }));
    let old: Value = Value::Object((0..16_000).map(row).collect());
    let mut new = old.clone();
    new["row 17"]["text"] = "another".into();
    criterion.bench_function("diff of two values of 1 MB", |bench| {
        bench.iter(|| black_box(engine::views::diff::diff(Some(&old), Some(&new))));
    });
}

criterion_group!(parts, steps, instants, differences);
criterion_main!(parts);
