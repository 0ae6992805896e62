//! What a rollback costs, and what it does to the next keyframe.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::event::{BlockKind, Outcome, Recorded};
use engine::log::Durability;
use engine::operation::Operation;
use engine::scope::ScopeKind;

use super::*;
use crate::file::open::{Liveness, settle};
use crate::file::{migrate, open};
use crate::first_event::request_started;

/// How many steps of its program SQLite counts at once.
const STEPS: u64 = 10;

/// A database in memory with one request, whose block is tried again and again.
struct Tries {
    connection: Connection,
    memory: Memory,
    owners: Owners,
    last: Seq,
    version: u64,
    steps: Arc<AtomicU64>,
}

impl Tries {
    fn new() -> Tries {
        let mut connection = Connection::open("").unwrap();
        settle(&connection).unwrap();
        migrate::make(&connection).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = steps.clone();
        let count = move || {
            counted.fetch_add(STEPS, Ordering::Relaxed);
            false
        };
        connection.progress_handler(STEPS as i32, Some(count)).unwrap();
        let owners = open::Owners::new(|_| Liveness::Dead);
        let mut tries = Tries { connection, memory: Memory::default(), owners, last: 0, version: 0, steps };
        tries.add(None, 0, request_started());
        tries
    }

    fn add(&mut self, path: Option<&str>, attempt: u32, kind: EventKind) {
        self.last += 1;
        let event = Event { seq: self.last, at: self.last as i64, path: path.map(Into::into), attempt, kind };
        let mut batch = AppendBatch::new("r", Some(Lease::first("o")), vec![event], Durability::Committed).unwrap();
        let mut transaction = Transaction::new(&self.connection, &mut self.memory, &self.owners).unwrap();
        transaction.add(&mut batch).unwrap().unwrap();
        transaction.close().unwrap();
    }

    fn begin(&mut self, attempt: u32) {
        let kind = EventKind::BlockStarted {
            name: "b".into(),
            block: BlockKind::Handler,
            parent: None,
            input: Recorded::Undefined,
            versions: Vec::new(),
            fingerprint: None,
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

    /// Answers how many steps of SQLite's programs that took.
    fn roll_back(&mut self, attempt: u32) -> u64 {
        let before = self.steps.load(Ordering::Relaxed);
        let kind = EventKind::BlockFinished {
            outcome: Outcome::Abandoned,
            output: None,
            error: None,
            caught: None,
            transient: false,
            memoized: false,
            commits: Vec::new(),
        };
        self.add(Some("root"), attempt, kind);
        self.steps.load(Ordering::Relaxed) - before
    }

    fn keyframes(&self) -> u64 {
        self.connection.query_row("SELECT count(*) FROM keyframe", (), |row| row.get(0)).unwrap()
    }
}

/// The steps and rollbacks before are not read again with every rollback.
#[test]
fn a_rollback_costs_the_same_however_many_there_were() {
    let mut tries = Tries::new();
    let costs: Vec<u64> = (0..50)
        .map(|attempt| {
            tries.begin(attempt);
            tries.write(attempt);
            tries.roll_back(attempt)
        })
        .collect();
    assert_eq!(tries.keyframes(), 0, "nothing of it was in a keyframe");
    let (early, late) = (costs[5], costs[49]);
    assert!(late <= early + 2 * STEPS, "{early} steps, then {late}: {costs:?}");
}

/// A keyframe that holds what was rolled back is of no use: the next step takes another, and an instant is as
/// near to one as ever.
#[test]
fn a_rollback_of_what_a_keyframe_holds_makes_room_for_another() {
    let mut tries = Tries::new();
    tries.begin(0);
    while tries.keyframes() == 0 {
        tries.write(0);
    }
    tries.roll_back(0);
    tries.begin(1);
    tries.write(1);
    assert_eq!(tries.keyframes(), 2);
}
