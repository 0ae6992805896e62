//! The cost of a rollback, and its effect on the next keyframe.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::event::{BlockKind, Outcome, Recorded};
use engine::log::AppendMode;
use engine::operation::Operation;
use engine::scope::ScopeKind;

use super::*;
use crate::file::migrate;
use crate::file::open::configure_statement_cache;
use crate::file::owners::{Liveness, Owners};
use crate::first_event::request_started;
use crate::write::append_batch::QueuedAppend;

/// After how many virtual machine instructions SQLite calls the progress handler.
const STEPS: u64 = 10;

/// A temporary database with one request, whose block runs in several attempts.
struct RetriedBlock {
    connection: Connection,
    cache: WriterCache,
    owners: Owners,
    last: Seq,
    version: u64,
    steps: Arc<AtomicU64>,
}

impl RetriedBlock {
    fn new() -> RetriedBlock {
        let mut connection = rusqlite::Connection::open("").unwrap();
        configure_statement_cache(&connection).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = steps.clone();
        let count = move || {
            counted.fetch_add(STEPS, Ordering::Relaxed);
            false
        };
        connection.progress_handler(STEPS as i32, Some(count)).unwrap();
        let connection = Connection::Sqlite(connection);
        migrate::create_tables(&connection).unwrap();
        let owners = Owners::new(|_| Liveness::Dead);
        let mut block = RetriedBlock { connection, cache: WriterCache::default(), owners, last: 0, version: 0, steps };
        block.add(None, 0, request_started());
        block
    }

    fn add(&mut self, path: Option<&str>, attempt: u32, kind: EventKind) {
        self.last += 1;
        let event = Event { seq: self.last, at: self.last as i64, path: path.map(Into::into), attempt, kind };
        let answer = futures_channel::oneshot::channel().0;
        let append = QueuedAppend::new("r", &Lease::first("o"), vec![event], AppendMode::Committed, answer);
        let mut batch = append.prepare();
        let mut transaction = TransactionRows::new(&self.connection, &mut self.cache, &self.owners).unwrap();
        transaction.add(&mut batch).unwrap().unwrap();
        transaction.finish().unwrap();
    }

    fn begin(&mut self, attempt: u32) {
        let kind = EventKind::BlockStarted {
            name: "b".into(),
            block: BlockKind::Handler,
            parent: None,
            input: Recorded::Undefined,
            versions: Vec::new(),
            fingerprint: None,
            replaces_failed: false,
        };
        self.add(Some("root"), attempt, kind);
    }

    fn write(&mut self, attempt: u32) {
        self.version += 1;
        let by = [("n".to_owned(), 1.into())].into_iter().collect();
        let scope = ScopeKey::new(ScopeKind::Request, "r");
        let operation = Operation::Increment { by };
        let kind = EventKind::StateChanged { scope, operation, value: None, version: self.version };
        self.add(Some("root"), attempt, kind);
    }

    /// Rolls an attempt back. Returns how many instructions SQLite's virtual machine executed for it.
    fn roll_back(&mut self, attempt: u32) -> u64 {
        let before = self.steps.load(Ordering::Relaxed);
        let kind = EventKind::BlockFinished {
            outcome: Outcome::Abandoned,
            output: None,
            error: None,
            caught: None,
            transient: false,
            memoized: false,
            returned_error: false,
            timed_out_ms: None,
            commits: Vec::new(),
        };
        self.add(Some("root"), attempt, kind);
        self.steps.load(Ordering::Relaxed) - before
    }

    fn keyframes(&self) -> u64 {
        self.connection.query_row("SELECT count(*) FROM keyframe", (), |row| row.get(0)).unwrap()
    }
}

/// A rollback does not read the changes and rollbacks before it.
#[test]
fn a_rollback_costs_the_same_however_many_there_were() {
    let mut block = RetriedBlock::new();
    let costs: Vec<u64> = (0..50)
        .map(|attempt| {
            block.begin(attempt);
            block.write(attempt);
            block.roll_back(attempt)
        })
        .collect();
    assert_eq!(block.keyframes(), 0, "nothing of it was in a keyframe");
    let (early, late) = (costs[5], costs[49]);
    assert!(late <= early + 2 * STEPS, "{early} steps, then {late}: {costs:?}");
}

/// A keyframe that contains what was rolled back cannot be used: the next change writes another, so the cost of
/// reading a state stays bounded.
#[test]
fn a_rollback_of_what_a_keyframe_holds_makes_room_for_another() {
    let mut block = RetriedBlock::new();
    block.begin(0);
    while block.keyframes() == 0 {
        block.write(0);
    }
    block.roll_back(0);
    block.begin(1);
    block.write(1);
    assert_eq!(block.keyframes(), 2);
}
