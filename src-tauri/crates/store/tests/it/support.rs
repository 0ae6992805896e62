//! Builders of events, and one way to append them.

use engine::event::{BlockKind, Event, EventKind, Outcome, Recorded, RequestStatus, ScopeCommit, Seq};
use engine::log::{AppendError, AppendMode, Lease, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Map, Value, json};
use std::path::Path;
use store::{DataPlace, Liveness, Options, Owners, Store};
use tempfile::TempDir;

/// A store in a folder of its own.
pub(crate) struct Bed {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl std::ops::Deref for Bed {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

pub(crate) fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder);
    Bed { folder, store }
}

/// As [`bed`], with every owner dead.
pub(crate) fn later_bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let store = open_later(&folder);
    Bed { folder, store }
}

pub(crate) fn open_in(folder: &TempDir) -> Store {
    Store::open(place_in(folder), Options { create: true, ..Options::default() }).unwrap()
}

/// The database of a test: a file in its folder, or a schema of its own on the server that `FLOWGLASS_TEST_POSTGRES`
/// names.
pub(crate) fn place_in(folder: &TempDir) -> DataPlace {
    place_of(folder.path())
}

/// As [`place_in`], by the folder's path.
pub(crate) fn place_of(folder: &Path) -> DataPlace {
    let Ok(server) = std::env::var(SERVER) else { return folder.join("log.db").into() };
    let name = folder.file_name().unwrap().to_string_lossy().to_lowercase();
    let schema: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    DataPlace::parse(format!("{server}?schema=t_{schema}").as_ref()).unwrap()
}

/// The variable that names a PostgreSQL server for tests.
pub(crate) const SERVER: &str = "FLOWGLASS_TEST_POSTGRES";

/// As [`open_in`], with every owner dead.
pub(crate) fn open_later(folder: &TempDir) -> Store {
    let owners = Owners::new(|_| Liveness::Dead);
    Store::open(place_in(folder), Options { create: true, owners, ..Options::default() }).unwrap()
}

/// The owner that requests of these tests begin with.
pub(crate) fn first() -> Lease {
    Lease::first("process-1")
}

/// Waits for an answer.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    futures_executor::block_on(future)
}

/// Writes a request's events, numbering them.
pub(crate) struct Request<'a> {
    pub(crate) store: &'a Store,
    pub(crate) id: String,
    pub(crate) last: Seq,
    pub(crate) lease: Lease,
}

impl<'a> Request<'a> {
    /// A request that has begun.
    pub(crate) fn begin(store: &'a Store, id: &str) -> Self {
        Self::begin_in(store, id, "ses")
    }

    pub(crate) fn begin_in(store: &'a Store, id: &str, session: &str) -> Self {
        let mut request = Request { store, id: id.to_owned(), last: 0, lease: first() };
        request.commit(started(session)).unwrap();
        request
    }

    /// Events without a path, as one append.
    pub(crate) fn append(&mut self, kinds: Vec<EventKind>, mode: AppendMode) -> Result<(), AppendError> {
        self.append_at(kinds.into_iter().map(|kind| (None, 0, kind)).collect(), mode)
    }

    pub(crate) fn append_at(
        &mut self,
        kinds: Vec<(Option<&str>, u32, EventKind)>,
        mode: AppendMode,
    ) -> Result<(), AppendError> {
        let number = |(at, (path, attempt, kind)): (usize, (Option<&str>, u32, EventKind))| {
            event(self.last + 1 + at as Seq, path, attempt, kind)
        };
        let mut events: Vec<Event> = kinds.into_iter().enumerate().map(number).collect();
        // Whoever takes a request over is its next owner.
        if let Some(EventKind::RequestResumed { owner, epoch, .. } | EventKind::RequestAdopted { owner, epoch }) =
            events.first_mut().map(|event| &mut event.kind)
        {
            self.lease = self.lease.next(owner.as_str());
            *epoch = self.lease.epoch;
        }
        self.last += events.len() as Seq;
        let newest = events.iter().rev().find_map(|event| Lease::named(&event.kind));
        let answer = self.store.append(&self.id, &self.lease, events, mode);
        self.lease = newest.unwrap_or_else(|| self.lease.clone());
        match mode {
            AppendMode::Committed | AppendMode::Boundary => wait(answer).unwrap(),
            AppendMode::Evidence => Ok(()),
        }
    }

    pub(crate) fn commit(&mut self, kind: EventKind) -> Result<(), AppendError> {
        self.append(vec![kind], AppendMode::Committed)
    }

    pub(crate) fn commit_at(&mut self, path: &str, attempt: u32, kind: EventKind) {
        self.append_at(vec![(Some(path), attempt, kind)], AppendMode::Committed).unwrap();
    }

    /// Operations on a durable record and their commit, as one append.
    pub(crate) fn write(&mut self, scope: &ScopeKey, from: u64, operations: &[Operation]) -> Result<(), AppendError> {
        let first = self.last + 1;
        let seqs: Vec<Seq> = (first..first + operations.len() as Seq).collect();
        let version = from + operations.len() as u64;
        let numbered = operations.iter().zip(from + 1..);
        let mut kinds: Vec<EventKind> = numbered.map(|(op, version)| changed(scope, op.clone(), version)).collect();
        kinds.push(EventKind::Committed { commits: vec![commit(scope, from, version, seqs)] });
        self.append(kinds, AppendMode::Committed)
    }

    pub(crate) fn finish(&mut self) {
        self.commit(finished(RequestStatus::Completed)).unwrap();
    }
}

pub(crate) fn event(seq: Seq, path: Option<&str>, attempt: u32, kind: EventKind) -> Event {
    Event { seq, at: 1_700_000_000_000 + seq as i64, path: path.map(Into::into), attempt, kind }
}

pub(crate) fn started(session: &str) -> EventKind {
    EventKind::RequestStarted {
        flow: "support".to_owned(),
        action: "answer".to_owned(),
        session: session.into(),
        user: "ada".into(),
        project: Some("apollo".into()),
        ephemeral: false,
        mock: None,
        code_hash: "c0de".to_owned(),
        input: Recorded::Value(json!({"question": "why?"})),
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        owner: "process-1".to_owned(),
        claim: None,
        forked_from: None,
        kept: Vec::new(),
        retention: None,
        cleanup_checkpoints: false,
        isolated: Vec::new(),
        user_by_org: false,
        parses_once: true,
        time_zone: None,
        foreign: None,
    }
}

pub(crate) fn finished(status: RequestStatus) -> EventKind {
    EventKind::RequestFinished { status, output: Some(Recorded::Undefined), error: None }
}

pub(crate) fn note(text: impl Into<String>) -> EventKind {
    EventKind::Noted { text: text.into() }
}

pub(crate) fn block_started(name: &str) -> EventKind {
    EventKind::BlockStarted {
        name: name.into(),
        block: BlockKind::Handler,
        parent: Some("root:0".into()),
        input: Recorded::Undefined,
        versions: Vec::new(),
        fingerprint: None,
        replaces_failed: false,
    }
}

pub(crate) fn block_finished(outcome: Outcome, output: Option<Value>) -> EventKind {
    EventKind::BlockFinished {
        outcome,
        output: output.map(Recorded::Value),
        error: None,
        caught: None,
        transient: false,
        memoized: false,
        returned_error: false,
        timed_out_ms: None,
        commits: Vec::new(),
    }
}

pub(crate) fn callback_returned(events: Vec<Seq>, superseded: Vec<Seq>) -> EventKind {
    EventKind::CallbackReturned {
        callback: "map#0".to_owned(),
        fingerprint: None,
        returned: None,
        events,
        superseded,
        memoized: false,
        commits: Vec::new(),
    }
}

pub(crate) fn changed(scope: &ScopeKey, operation: Operation, version: u64) -> EventKind {
    EventKind::StateChanged { scope: scope.clone(), operation, value: None, version }
}

pub(crate) fn initialized(scope: &ScopeKey, state: Value) -> EventKind {
    EventKind::StateInitialized { scope: scope.clone(), state, durable: true }
}

pub(crate) fn commit(scope: &ScopeKey, from: u64, version: u64, operations: Vec<Seq>) -> ScopeCommit {
    ScopeCommit { scope: scope.clone(), from, version, operations, rebased: Vec::new() }
}

pub(crate) fn patch(fields: Value) -> Operation {
    Operation::Patch { fields: object(fields) }
}

pub(crate) fn push(field: &str, value: Value) -> Operation {
    Operation::Push { field: field.to_owned(), value }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is not an object"),
    }
}

pub(crate) fn session_scope() -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, "ses")
}

pub(crate) fn request_scope(id: &str) -> ScopeKey {
    ScopeKey::new(ScopeKind::Request, id)
}

/// Chance that is the same in every run.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Text that neither compresses nor repeats.
    pub(crate) fn noise(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 8);
        while text.len() < bytes {
            text.push_str(&format!("{:08x}", self.next()));
        }
        text.truncate(bytes);
        text
    }
}

/// Takes away what format 11 and those after it added.
pub(crate) const WITHOUT_LISTS: &str = "DROP INDEX IF EXISTS sample_by_request;
    DROP TABLE received; ALTER TABLE request DROP COLUMN emitter;
    DROP TABLE session_annotation; DROP TABLE session_tag; DROP INDEX session_by_fork;
    ALTER TABLE session DROP COLUMN given_title; ALTER TABLE session RENAME COLUMN flow_title TO title;
    DROP TABLE annotation; DROP TABLE tag; DROP TABLE model; DROP TABLE model_usage;
    DROP INDEX request_by_start; DROP INDEX request_by_status; DROP INDEX request_by_flow; DROP INDEX request_by_label;
    DROP INDEX request_by_user; DROP INDEX request_by_duration; DROP INDEX request_by_tokens;
    CREATE INDEX request_by_user ON request (user); ALTER TABLE request DROP COLUMN words;
    ALTER TABLE request DROP COLUMN tokens; ALTER TABLE request DROP COLUMN title";

/// Makes a database of today one of format 5, as far as tables go, after [`WITHOUT_LISTS`].
pub(crate) const OLDER: &str = "DROP TABLE database; DROP TABLE code; DROP TABLE removal; DROP TABLE ticket;
    ALTER TABLE request RENAME COLUMN unindexed_from TO tail; DROP INDEX request_unindexed;
    CREATE INDEX request_by_tail ON request (n) WHERE tail IS NOT NULL;
    ALTER TABLE request DROP COLUMN epoch; ALTER TABLE event DROP COLUMN body_checksum;
    DROP TABLE span_page; DROP TABLE path_event; DROP TABLE expectation;
    DROP TABLE experiment; DROP TABLE sample;
    ALTER TABLE filter_block RENAME TO digest; ALTER TABLE digest RENAME COLUMN trigram_filter TO grams;
    DROP INDEX filter_block_by_request; CREATE UNIQUE INDEX digest_by_request ON digest (request, first);
    ALTER TABLE attempt_rollback RENAME TO withdrawal;
    ALTER TABLE keyframe RENAME COLUMN tombstone TO stands_in;
    ALTER TABLE total RENAME COLUMN indexed_events TO covered; ALTER TABLE total RENAME COLUMN id_floor TO floor;
    PRAGMA user_version = 5";

/// Waits until all events are indexed but the last few of a running request: filters are made after the commit.
pub(crate) fn wait_for_filters(store: &Store) {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let left = "SELECT count(*) FROM request WHERE unindexed_from IS NOT NULL
        AND (status NOT IN ('queued', 'in_progress')
            OR (SELECT max(seq) FROM event WHERE request = n) - unindexed_from >= 63)";
    let begun = std::time::Instant::now();
    while connection.query_row(left, (), |row| row.get::<_, i64>(0)).unwrap() > 0 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "filters are not made");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
