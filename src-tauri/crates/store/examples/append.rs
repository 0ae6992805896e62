//! What a durable step costs: appends a second through the store, against a bare INSERT + COMMIT
//! on the same disk, and what an instant of a long request costs to read.
//!
//! `cargo run --release -p store --example append`

use std::error::Error;
use std::time::{Duration, Instant};

use engine::event::{BlockKind, Event, EventKind, Outcome, Recorded, RequestStatus, ScopeCommit, Seq};
use engine::log::{Durability, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Value, json};
use store::{EventQuery, Options, Store};

const STEPS: u64 = 20_000;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bare = bare(&folder.path().join("bare.db"))?;
    println!("bare INSERT + COMMIT                 {bare:>8.0} /s");
    for writers in [1, 2, 8, 64] {
        let path = folder.path().join(format!("{writers}.db"));
        let store = Store::open(&path, Options { create: true, ..Options::default() })?;
        let rate = steps(&store, writers)?;
        let stats = store.stats()?;
        println!(
            "steps of 2 events, {writers:>2} at a time      {rate:>8.0} /s   {:.2} of bare, {} bytes an event",
            rate / bare,
            stats.bytes / stats.events
        );
    }
    let store = Store::open(&folder.path().join("long.db"), Options { create: true, ..Options::default() })?;
    long_request(&store)
}

/// The least a durable step can cost here.
fn bare(path: &std::path::Path) -> Result<f64> {
    let connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch("CREATE TABLE event (id INTEGER PRIMARY KEY, body TEXT)")?;
    let begin = Instant::now();
    for n in 0..STEPS {
        connection.prepare_cached("INSERT INTO event (body) VALUES (?1)")?.execute((n as i64,))?;
    }
    Ok(rate(STEPS, begin.elapsed()))
}

fn steps(store: &Store, writers: u64) -> Result<f64> {
    let begin = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> =
            (0..writers).map(|n| scope.spawn(move || run(store, &format!("r{n}"), STEPS / writers))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a writer panicked")?)
    })?;
    Ok(rate(STEPS, begin.elapsed()))
}

/// One request: each step waits for the one before it.
fn run(store: &Store, id: &str, steps: u64) -> Result<()> {
    append(store, id, vec![event(1, started())])?;
    for n in 0..steps {
        let started = EventKind::BlockStarted {
            name: "step".into(),
            block: BlockKind::Handler,
            parent: Some("root:0".into()),
            input: Recorded::Value(json!(n)),
            versions: Vec::new(),
        };
        let seq = 2 * n + 2;
        append(store, id, vec![event(seq, started), event(seq + 1, finished(Some(json!({"n": n})), Vec::new()))])?;
    }
    append(
        store,
        id,
        vec![event(
            2 * steps + 2,
            EventKind::RequestFinished { status: RequestStatus::Completed, output: None, error: None },
        )],
    )
}

/// 100,000 events that change a session's state, and what instants of it cost.
fn long_request(store: &Store) -> Result<()> {
    let scope = ScopeKey::new(ScopeKind::Session, "ses");
    append(store, "long", vec![event(1, started())])?;
    let begin = Instant::now();
    for n in 0..50_000_u64 {
        let operation = match n % 4 {
            0 => Operation::Increment { by: fields(json!({"count": 1})) },
            1 => Operation::SetRecord {
                field: "pages".into(),
                key: format!("page {}", n % 500),
                value: json!({"read": n}),
            },
            2 => Operation::Patch { fields: fields(json!({"last": {"step": n, "note": "a short note on it"}})) },
            _ => Operation::Push { field: format!("log {}", n / 2_000), value: json!(format!("line {n}")) },
        };
        let seq = 2 * n + 2;
        let changed = EventKind::StateChanged { scope: scope.clone(), operation, value: None, version: n + 1 };
        let commit =
            ScopeCommit { scope: scope.clone(), from: n, version: n + 1, operations: vec![seq], rebased: Vec::new() };
        append(store, "long", vec![event(seq, changed), event(seq + 1, finished(None, vec![commit]))])?;
        store.record(&scope)?;
    }
    let wrote = begin.elapsed();
    let stats = store.stats()?;
    let state = serde_json::to_string(&*store.record(&scope)?.state)?.len();
    println!(
        "steps with a state operation          {:>8.0} /s   {} bytes an event",
        rate(50_000, wrote),
        stats.bytes / stats.events
    );
    let mut times: Vec<Duration> = Vec::new();
    let mut seq = 1;
    for _ in 0..1_000 {
        seq = (seq * 48_271) % 100_000;
        let begin = Instant::now();
        store.state_at(&scope, "long", seq + 1)?;
        times.push(begin.elapsed());
    }
    times.sort();
    println!(
        "state at a random event of 100,000    median {:?}, worst {:?} (the state grows to {} KB)",
        times[500],
        times[999],
        state / 1_000
    );
    let begin = Instant::now();
    let events = store.events("long", &EventQuery::default())?;
    println!("reading all {} events            {:?}", events.len(), begin.elapsed());
    Ok(())
}

fn fields(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn started() -> EventKind {
    EventKind::RequestStarted {
        flow: "bench".into(),
        action: "run".into(),
        session: "ses".into(),
        user: "ada".into(),
        project: None,
        ephemeral: false,
        mock: None,
        code_hash: "0".into(),
        input: Recorded::Undefined,
        retry_of: None,
        owner: "bench".into(),
        claim: None,
        forked_from: None,
        retention: None,
        cleanup_checkpoints: false,
    }
}

fn finished(output: Option<Value>, commits: Vec<ScopeCommit>) -> EventKind {
    EventKind::BlockFinished {
        outcome: Outcome::Completed,
        output: output.map(Recorded::Value),
        error: None,
        transient: false,
        memoized: false,
        commits,
    }
}

fn event(seq: Seq, kind: EventKind) -> Event {
    Event { seq, at: seq as i64, path: Some("root/step:step".into()), attempt: 0, kind }
}

fn append(store: &Store, id: &str, events: Vec<Event>) -> Result<()> {
    Ok(futures_executor::block_on(store.append(id, events, Durability::Committed))??)
}

fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
