//! The cost of reading a journal, which must not grow with its square. Outside the modules `read` and `write` because
//! it needs both.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sql::Connection;
use engine::event::{BlockKind, Event, EventKind, Outcome, Recorded, Seq};
use engine::log::{AppendMode, Lease, NoteKind};
use serde_json::json;

use crate::file::migrate;
use crate::file::open::configure_statement_cache;
use crate::file::owners::{Liveness, Owners};
use crate::first_event::request_started;
use crate::read::journal::{NoteQuery, notes};
use crate::write::append_batch::QueuedAppend;
use crate::write::transaction::TransactionRows;
use crate::write::writer_cache::WriterCache;

/// How many virtual machine instructions SQLite runs between two calls of the progress handler.
const STEPS: u64 = 10;

/// A temporary database with one request, whose root has not ended.
struct TestJournal {
    connection: Connection,
    cache: WriterCache,
    owners: Owners,
    last: Seq,
    steps: Arc<AtomicU64>,
}

impl TestJournal {
    fn new() -> TestJournal {
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
        let mut journal = TestJournal { connection, cache: WriterCache::default(), owners, last: 0, steps };
        journal.add(None, request_started());
        journal.begin("root");
        journal
    }

    fn add(&mut self, path: Option<&str>, kind: EventKind) -> Seq {
        self.last += 1;
        let event = Event { seq: self.last, at: self.last as i64, path: path.map(Into::into), attempt: 0, kind };
        let answer = futures_channel::oneshot::channel().0;
        let append = QueuedAppend::new("r", &Lease::first("o"), vec![event], AppendMode::Committed, answer);
        let mut batch = append.prepare();
        let mut transaction = TransactionRows::new(&self.connection, &mut self.cache, &self.owners).unwrap();
        transaction.add(&mut batch).unwrap().unwrap();
        transaction.finish().unwrap();
        self.last
    }

    fn begin(&mut self, path: &str) {
        let (name, block, input) = ("b".into(), BlockKind::Handler, Recorded::Undefined);
        let (parent, versions, fingerprint) = (None, Vec::new(), None);
        self.add(
            Some(path),
            EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed: false },
        );
    }

    fn note(&mut self, path: &str, n: usize) -> Seq {
        self.add(Some(path), EventKind::JournalAppended { entry: json!({ "text": n }) })
    }

    /// A callback of the root that wrote an event and returned.
    fn returned(&mut self, n: usize, seq: Seq) {
        let (callback, events, superseded) = (format!("map#{n}"), vec![seq], Vec::new());
        let (fingerprint, returned, memoized, commits) = (None, None, false, Vec::new());
        let kind =
            EventKind::CallbackReturned { callback, fingerprint, returned, events, superseded, memoized, commits };
        self.add(Some("root"), kind);
    }

    fn end(&mut self, path: &str, outcome: Outcome) {
        let (output, error, caught, transient, memoized, commits) = (None, None, None, false, false, Vec::new());
        let kind = EventKind::BlockFinished {
            outcome,
            output,
            error,
            caught,
            transient,
            memoized,
            returned_error: false,
            timed_out_ms: None,
            commits,
        };
        self.add(Some(path), kind);
    }

    /// The texts of the newest notes, and how many instructions SQLite's virtual machine executed for them.
    fn read(&self, newest: Option<usize>) -> (Vec<usize>, u64) {
        let before = self.steps.load(Ordering::Relaxed);
        let query = NoteQuery { newest, ..NoteQuery::default() };
        let session = "SELECT id FROM session";
        let session: String = self.connection.query_row(session, (), |row| row.get(0)).unwrap();
        let notes = notes(&self.connection, &session, NoteKind::Journal, query).unwrap();
        let texts = notes.iter().map(|note| note.entry["text"].as_u64().unwrap() as usize).collect();
        (texts, self.steps.load(Ordering::Relaxed) - before)
    }
}

/// Notes of callbacks of a chain that has not ended.
fn of_callbacks(count: usize) -> TestJournal {
    let mut journal = TestJournal::new();
    for n in 0..count {
        let seq = journal.note("root", n);
        journal.returned(n, seq);
    }
    journal
}

/// Notes of blocks, of which every second one was rolled back.
fn of_blocks(count: usize) -> TestJournal {
    let mut journal = TestJournal::new();
    for n in 0..2 * count {
        let path = format!("root/forEach:b[{n}]");
        journal.begin(&path);
        journal.note(&path, n);
        journal.end(&path, if n % 2 == 0 { Outcome::Completed } else { Outcome::Abandoned });
    }
    journal
}

#[test]
fn twice_the_notes_take_twice_the_work() {
    for journal in [of_callbacks, of_blocks] {
        let ((few, once), (many, twice)) = (journal(100).read(None), journal(200).read(None));
        assert_eq!((few.len(), many.len()), (100, 200));
        assert!(twice * 10 <= once * 23, "{once} steps, then {twice}");
    }
}

#[test]
fn the_newest_notes_cost_the_same_however_many_there_are() {
    for journal in [of_callbacks, of_blocks] {
        let ((few, once), (many, more)) = (journal(100).read(Some(5)), journal(400).read(Some(5)));
        assert_eq!((few.len(), many.len()), (5, 5));
        assert_eq!(many, journal(400).read(None).0[395..]);
        // The notes of the session are sorted, which takes a few steps for each.
        assert!(more * 10 <= once * 45, "{once} steps, then {more}");
    }
}

#[test]
fn a_note_counts_if_its_callback_returned_or_its_attempt_ended() {
    let mut journal = TestJournal::new();
    journal.note("root", 1);
    let seq = journal.note("root", 2);
    journal.returned(0, seq);
    journal.note("root", 3);
    assert_eq!(journal.read(None).0, [2]);
    journal.end("root", Outcome::Completed);
    assert_eq!(journal.read(None).0, [1, 2, 3]);
    assert_eq!(journal.read(Some(2)).0, [2, 3]);
}
