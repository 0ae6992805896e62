//! Storage grows only with changes. Each test measures a size and compares it with a budget.

use engine::effects::EffectKind;
use engine::event::{EventKind, Outcome, Recorded};
use engine::item::{ItemStatus, NewItem};
use engine::log::AppendMode;
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::json;
use store::Stats;

use crate::support::*;

/// The bytes per event besides unique payload bytes.
fn overhead(stats: &Stats, empty: u64) -> u64 {
    (stats.bytes - empty).saturating_sub(stats.unique_payload_bytes) / stats.events
}

/// A sequencer's step as the engine writes it, with a state operation and an item.
fn step(request: &mut Request<'_>, n: u64, version: u64) {
    let scope = ScopeKey::new(ScopeKind::Sequencer, format!("{}:root/step:research:0", request.id));
    let path = format!("root/step:research/forEach:fetch[{n}]/step:summarize");
    let item = NewItem {
        item_type: "message".to_owned(),
        status: ItemStatus::Completed,
        key: None,
        transient: false,
        agent_type: None,
        agent_name: None,
        item_visibility: None,
        owned_by: None,
        payload: object(json!({"role": "user", "content": format!("page {n}")})),
    };
    let increment = Operation::Increment { by: object(json!({"pages": 1})) };
    let kinds = [block_started("summarize"), changed(&scope, increment, version), EventKind::ItemAdded { item }]
        .into_iter()
        .chain([block_finished(Outcome::Completed, Some(json!({"page": n, "ok": true})))]);
    request.append_at(kinds.map(|kind| (Some(path.as_str()), 0, kind)).collect(), AppendMode::Committed).unwrap();
}

#[test]
fn an_event_costs_less_than_six_hundred_bytes() {
    let bed = bed();
    let empty = bed.stats().unwrap().bytes;
    let mut request = Request::begin(&bed, "req_0193f7c0d2a77c6e9d3b");
    for n in 0..3_000 {
        step(&mut request, n, n + 1);
    }
    let stats = bed.stats().unwrap();
    let cost = overhead(&stats, empty);
    println!("small steps: {cost} bytes an event besides payload, {} in all", (stats.bytes - empty) / stats.events);
    assert!(cost < 400, "{cost}");
}

#[test]
fn a_value_that_repeats_is_stored_once() {
    let bed = bed();
    let empty = bed.stats().unwrap().bytes;
    let large = Chance(3).noise(300_000);
    for n in 0..20 {
        let mut request = Request::begin(&bed, &format!("r{n}"));
        request.commit(EventKind::BlockInput { input: Recorded::Value(json!({"document": large, "n": n})) }).unwrap();
    }
    let stats = bed.stats().unwrap();
    assert!(stats.payload_bytes > 20 * 300_000);
    assert!(stats.unique_payload_bytes < 310_000, "{stats:?}");
    assert!(stats.bytes - empty < 350_000, "{stats:?}");
}

/// A chat logged at every call: quadratic if each call were stored whole, linear if parts are stored.
#[test]
fn a_growing_history_costs_only_its_additions() {
    let bed = bed();
    let empty = bed.stats().unwrap().bytes;
    let mut chance = Chance(4);
    let mut request = Request::begin(&bed, "r");
    let mut messages = Vec::new();
    for ordinal in 0..400 {
        messages.push(json!({"role": "user", "content": chance.noise(200)}));
        let kind = EventKind::EffectFinished {
            effect: EffectKind::Model,
            ordinal,
            started: None,
            request: Some(json!({"model": "m", "messages": messages})),
            result: json!({"text": "ok"}),
            error: None,
            memoized: false,
            dispatch: None,
        };
        request.commit(kind).unwrap();
    }
    let stats = bed.stats().unwrap();
    println!(
        "history: {} KB logged, {} KB unique, {} KB stored",
        stats.payload_bytes / 1000,
        stats.unique_payload_bytes / 1000,
        (stats.bytes - empty) / 1000
    );
    assert!(stats.payload_bytes > 18_000_000);
    assert!(stats.bytes - empty < 3_000_000, "{stats:?}");
    assert!(overhead(&stats, empty) < 600, "{stats:?}");
}

/// The cost of a write does not depend on the size of the state: a counter beside a large value, or among many fields.
#[test]
fn a_small_change_of_a_large_state_stays_small() {
    for (name, state) in [
        ("one large field", json!({"blob": Chance(5).noise(500_000), "n": 0})),
        ("many fields", {
            let mut chance = Chance(6);
            json!(
                (0..2_000).map(|n| (format!("field {n}"), json!(chance.noise(100)))).collect::<serde_json::Map<_, _>>()
            )
        }),
        ("a long list", {
            let mut chance = Chance(7);
            json!({"list": (0..2_000).map(|_| json!(chance.noise(100))).collect::<Vec<_>>()})
        }),
    ] {
        let bed = bed();
        let scope = session_scope();
        let mut request = Request::begin(&bed, "r");
        request.write(&scope, 0, &[Operation::Set { state: object(state) }]).unwrap();
        let before = bed.stats().unwrap();
        for n in 0..3_000 {
            request.write(&scope, n + 1, &[Operation::Increment { by: object(json!({"n": 1})) }]).unwrap();
        }
        let after = bed.stats().unwrap();
        let cost = (after.bytes - before.bytes) / (after.events - before.events);
        println!("{name}: {cost} bytes an event");
        assert!(cost < 400, "{name}: {cost}");
    }
}

#[test]
fn a_list_that_grows_by_pushes_costs_only_the_pushed_values() {
    let bed = bed();
    let scope = session_scope();
    let empty = bed.stats().unwrap().bytes;
    let mut chance = Chance(8);
    let mut request = Request::begin(&bed, "r");
    for n in 0..4_000 {
        request.write(&scope, n, &[push("list", json!(chance.noise(80)))]).unwrap();
    }
    let stats = bed.stats().unwrap();
    println!("pushes: {} bytes an event besides payload", overhead(&stats, empty));
    assert!(overhead(&stats, empty) < 400, "{stats:?}");
}

/// The write-ahead log is checkpointed while steps go on, and then restarts. A reader of old pages delays this.
#[test]
fn the_write_ahead_log_stays_short() {
    let bed = bed();
    let log = bed.folder.path().join("log.db-wal");
    let pages = || std::fs::metadata(&log).unwrap().len() / 4_096;
    let mut request = Request::begin(&bed.store, "r");
    let mut write = |times: usize| {
        for n in 0..times {
            request.commit(note(format!("step {n}"))).unwrap();
        }
    };
    // Each write has three pages or more. On a busy machine the checkpoint comes later.
    write(8_000);
    assert!(pages() < 18_000, "{} pages", pages());
    let reader = Connection::open(bed.folder.path().join("log.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count =
        |reader: &Connection| -> i64 { reader.query_row("SELECT count(*) FROM event", (), |row| row.get(0)).unwrap() };
    let seen = count(&reader);
    write(8_000);
    assert!(pages() > 16_000, "{} pages", pages());
    assert_eq!(count(&reader), seen, "a reader sees one snapshot");
    reader.execute_batch("COMMIT").unwrap();
    // Old pages are no longer read, so the log is truncated.
    let begin = std::time::Instant::now();
    while pages() > 16_384 {
        assert!(begin.elapsed().as_secs() < 30, "{} pages", pages());
        write(100);
    }
    assert!(count(&reader) >= seen + 8_000);
}

/// While two processes write without a pause, no checkpoint completes until all writers wait for one.
#[test]
fn the_write_ahead_log_of_two_constant_writers_stays_short() {
    let bed = bed();
    let log = bed.folder.path().join("log.db-wal");
    let longest = std::thread::scope(|scope| {
        let write = |id: &'static str| {
            let store = open_in(&bed.folder);
            let mut request = Request::begin_in(&store, id, id);
            let mut noise = Chance(id.len() as u64);
            let mut longest = 0;
            for _ in 0..5_000 {
                request.commit(note(noise.noise(8_000))).unwrap();
                longest = longest.max(std::fs::metadata(&log).unwrap().len() / 4_096);
            }
            longest
        };
        let others = ["a", "bb"].map(|id| scope.spawn(move || write(id)));
        others.map(|other| other.join().unwrap()).into_iter().max().unwrap()
    });
    assert!(longest < 30_000, "{longest} pages");
}
