//! Laws of the logs that spans become.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use engine::event::{Event, EventKind};
use fastrand::Rng;
use serde_json::{Map, json};

use super::packed::{PackedSpan, counted};
use super::span::{ArrivedSpan, SpanEvent};
use super::trace::Trace;

fn span(id: u64, parent: Option<u64>, (start, end): (u64, u64)) -> ArrivedSpan {
    let (start, end) = (start * 1_000_000, end * 1_000_000);
    ArrivedSpan { id, parent, name: format!("step {}", id % 3), start, end, ..ArrivedSpan::default() }
}

fn log(spans: &[ArrivedSpan]) -> Vec<Event> {
    let mut trace = Trace::new(1);
    spans.iter().for_each(|span| _ = trace.add(PackedSpan::of(span.clone())));
    trace.take_in_records();
    events(&trace)
}

fn events(trace: &Trace) -> Vec<Event> {
    let mut all = Vec::new();
    trace.events("owner", &mut |event| {
        all.push(event);
        true
    });
    all
}

/// Spans of any shape: some without a parent that arrived, some that have not ended, some in circles.
fn any_spans(chance: &mut Rng) -> Vec<ArrivedSpan> {
    let count = chance.u64(1..40);
    let made = (1..=count).map(|id| {
        let parent = (id > 1 && chance.u8(..) > 20).then(|| chance.u64(1..count + 3));
        let start = chance.u64(0..50);
        span(id, parent.filter(|parent| *parent != id), (start, if chance.bool() { chance.u64(0..90) } else { 0 }))
    });
    made.collect()
}

/// Checks that spans make the same log in whatever order and however often they arrive, and that the log holds them.
#[track_caller]
fn arrive_in_any_order(chance: &mut Rng, spans: &[ArrivedSpan], seed: u64) {
    let wanted = log(spans);
    let mut shuffled = spans.to_vec();
    shuffled.extend(spans.iter().filter(|_| chance.bool()).cloned().collect::<Vec<_>>());
    chance.shuffle(&mut shuffled);
    assert_eq!(log(&shuffled), wanted, "seed {seed}");
    assert_eq!(events(&Trace::of_log(1, &wanted)), wanted, "seed {seed}: the log holds what arrived");
}

#[test]
fn the_order_of_arrival_and_repetition_change_nothing() {
    for seed in 0..300 {
        let mut chance = Rng::with_seed(seed);
        let spans = any_spans(&mut chance);
        arrive_in_any_order(&mut chance, &spans, seed);
    }
}

#[test]
fn every_span_is_one_block_that_begins_after_the_one_around_it() {
    for seed in 0..300 {
        let spans = any_spans(&mut Rng::with_seed(seed));
        let (mut begun, mut held) = (HashSet::new(), 0);
        for (at, event) in log(&spans).iter().enumerate() {
            assert_eq!(event.seq, at as u64 + 1, "seed {seed}");
            let path = event.path.as_deref().unwrap_or_default();
            match &event.kind {
                EventKind::BlockStarted { parent, .. } => {
                    assert!(parent.as_ref().is_none_or(|parent| begun.contains(&**parent)), "seed {seed}: {path}");
                    assert!(begun.insert(format!("{path}:0")), "seed {seed}: {path} is there twice");
                }
                EventKind::BlockFinished { .. } => assert!(begun.contains(&format!("{path}:0")), "seed {seed}"),
                EventKind::SpanReceived { .. } => held += 1,
                _ => {}
            }
        }
        assert_eq!(held, spans.len(), "seed {seed}");
    }
}

/// A log record of a span, alone in its call.
fn record(of: u64, at: u64) -> ArrivedSpan {
    let attributes = Map::from_iter([("content".to_owned(), json!(format!("said at {at}")))]);
    let record = SpanEvent { at: at * 1_000_000, name: "gen_ai.user.message".to_owned(), attributes };
    ArrivedSpan { id: of, records: vec![record], ..ArrivedSpan::default() }
}

#[test]
fn log_records_belong_to_their_spans_whenever_they_arrive() {
    for seed in 0..100 {
        let mut chance = Rng::with_seed(seed);
        let mut spans = any_spans(&mut chance);
        let ids: Vec<u64> = spans.iter().map(|span| span.id).collect();
        spans.extend((1..60).map(|at| record(ids[chance.usize(..ids.len())], at)));
        arrive_in_any_order(&mut chance, &spans, seed);
    }
}

#[test]
fn records_that_arrive_one_by_one_cost_what_they_are() {
    let packed = |count: u64| {
        counted::BYTES.set(0);
        let mut spans = vec![span(1, None, (1, 5_000)), span(2, Some(1), (2, 4_000))];
        spans.extend((0..count).map(|at| record(2, at + 2)));
        log(&spans);
        counted::BYTES.get()
    };
    let (small, large) = (packed(500), packed(1_000));
    assert!(large < small * 5 / 2, "{small} bytes become {large} for twice the records");
}

#[test]
fn records_without_a_span_end_when_nothing_more_is_expected() {
    let mut trace = Trace::new(1);
    for at in [7, 5] {
        trace.add(PackedSpan::of(record(2, at)));
        trace.add(PackedSpan::of(record(3, at)));
    }
    trace.take_in_records();
    let is_end = |event: &Event| matches!(event.kind, EventKind::RequestFinished { .. });
    assert!(!events(&trace).iter().any(is_end));
    assert!(trace.settle());
    let all = events(&trace);
    assert_eq!((all.first().unwrap().at, all.iter().filter(|event| is_end(event)).count()), (5, 1));
    let of_kind = |is: fn(&EventKind) -> bool| all.iter().filter(|event| is(&event.kind)).count();
    let begun = of_kind(|kind| matches!(kind, EventKind::BlockStarted { .. }));
    assert_eq!(begun, of_kind(|kind| matches!(kind, EventKind::BlockFinished { .. })));
    assert_eq!(events(&Trace::of_log(1, &all)), all, "the log holds it all");
    // The span itself may come later.
    assert!(trace.add(PackedSpan::of(span(2, None, (4, 9)))));
    assert!(events(&trace).iter().any(is_end));
}

/// A model call whose prompt holds all earlier messages.
fn chat(id: u64, turns: u64) -> ArrivedSpan {
    let messages =
        (0..turns).map(|turn| json!({ "role": "user", "parts": [{ "type": "text", "content": turn.to_string() }] }));
    let messages: Vec<_> = messages.collect();
    let attributes = Map::from_iter([
        ("gen_ai.operation.name".to_owned(), json!("chat")),
        ("gen_ai.input.messages".to_owned(), json!(json!(messages).to_string())),
    ]);
    ArrivedSpan { attributes, ..span(id, Some(1), (id, id + 1)) }
}

#[test]
fn what_a_log_holds_grows_with_the_spans() {
    let bytes = |spans: &[ArrivedSpan]| -> usize {
        let events = log(spans);
        // The spans themselves are as large as they are.
        let own = events.iter().filter(|event| !matches!(event.kind, EventKind::SpanReceived { .. }));
        own.map(|event| serde_json::to_string(event).unwrap().len()).sum()
    };
    let deep = |n: u64| (1..=n).map(|id| span(id, (id > 1).then_some(id - 1), (id, 5_000 - id))).collect::<Vec<_>>();
    let wide = |n: u64| (1..=n).map(|id| span(id, (id > 1).then_some(1), (id, id + 1))).collect::<Vec<_>>();
    let conversation = |n: u64| {
        let mut spans = vec![span(1, None, (1, 5_000))];
        spans.extend((2..n + 2).map(|id| chat(id, id)));
        spans
    };
    for (what, small, large) in [
        ("deep", deep(1_000), deep(2_000)),
        ("wide", wide(1_000), wide(2_000)),
        ("conversation", conversation(100), conversation(200)),
    ] {
        let (small, large) = (bytes(&small), bytes(&large));
        assert!(large < small * 5 / 2, "{what}: {small} bytes become {large} for twice the spans");
    }
}
