//! Laws of the logs that spans become.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use engine::event::{Event, EventKind};
use fastrand::Rng;
use serde_json::{Map, json};

use super::packed::PackedSpan;
use super::span::ArrivedSpan;
use super::trace::Trace;

fn span(id: u64, parent: Option<u64>, (start, end): (u64, u64)) -> ArrivedSpan {
    let (start, end) = (start * 1_000_000, end * 1_000_000);
    ArrivedSpan { id, parent, name: format!("step {}", id % 3), start, end, ..ArrivedSpan::default() }
}

fn log(spans: &[ArrivedSpan]) -> Vec<Event> {
    let mut trace = Trace::new(1);
    spans.iter().for_each(|span| _ = trace.add(PackedSpan::of(span.clone())));
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

#[test]
fn the_order_of_arrival_and_repetition_change_nothing() {
    for seed in 0..300 {
        let mut chance = Rng::with_seed(seed);
        let spans = any_spans(&mut chance);
        let wanted = log(&spans);
        let mut shuffled = spans.clone();
        shuffled.extend(spans.iter().filter(|_| chance.bool()).cloned().collect::<Vec<_>>());
        chance.shuffle(&mut shuffled);
        assert_eq!(log(&shuffled), wanted, "seed {seed}");
        assert_eq!(events(&Trace::of_log(1, &wanted)), wanted, "seed {seed}: the log holds the spans");
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
