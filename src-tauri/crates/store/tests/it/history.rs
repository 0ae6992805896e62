//! Builders of events, shared by the tests.

use std::path::Path;

use engine::event::{BlockKind, Event, EventKind, Outcome, Recorded, RequestStatus, ScopeCommit};
use engine::log::{AppendError, Durability, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Map, Value};
use store::{Options, Store};

pub(crate) fn open(file: &Path) -> Store {
    Store::open(file, Options { create: true, ..Options::default() }).expect("it opens")
}

pub(crate) fn session() -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, "s")
}

/// Events of one request, numbered as they are added.
pub(crate) struct History {
    request: String,
    next: u64,
}

impl History {
    pub(crate) fn new(request: &str) -> Self {
        History { request: request.to_owned(), next: 1 }
    }

    pub(crate) fn event(&mut self, path: Option<&str>, kind: EventKind) -> Event {
        self.next += 1;
        Event { seq: self.next - 1, at: 1_000 + self.next as i64, path: path.map(Into::into), attempt: 0, kind }
    }

    pub(crate) fn append(&self, store: &Store, events: Vec<Event>) -> Result<(), AppendError> {
        futures_executor::block_on(store.append(&self.request, events, Durability::Committed)).expect("the writer lives")
    }

    pub(crate) fn start(&mut self, store: &Store) {
        let event = self.event(None, started());
        self.append(store, vec![event]).expect("it starts");
    }

    /// A block that patches the session, from a version.
    pub(crate) fn patch(&mut self, store: &Store, from: u64, fields: Value) -> Result<(), AppendError> {
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        self.commit(store, from, vec![Operation::Patch { fields }])
    }

    /// A block that commits operations on the session, from a version.
    pub(crate) fn commit(&mut self, store: &Store, from: u64, operations: Vec<Operation>) -> Result<(), AppendError> {
        let mut events = vec![self.event(Some("root"), block_started())];
        let mut seqs = Vec::new();
        for (at, operation) in operations.into_iter().enumerate() {
            let version = from + at as u64 + 1;
            let event = self.event(Some("root"), EventKind::StateChanged { scope: session(), operation, value: None, version });
            seqs.push(event.seq);
            events.push(event);
        }
        let version = from + seqs.len() as u64;
        let commit = ScopeCommit { scope: session(), from, version, operations: seqs, rebased: Vec::new() };
        events.push(self.event(Some("root"), finished(vec![commit])));
        self.append(store, events)
    }

    /// The number of the newest event.
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }
}

pub(crate) fn started() -> EventKind {
    EventKind::RequestStarted {
        flow: "f".to_owned(),
        action: "a".to_owned(),
        session: "s".into(),
        user: "u".into(),
        project: None,
        ephemeral: false,
        mock: None,
        code_hash: String::new(),
        input: Recorded::Value(Value::Object(Map::new())),
        retry_of: None,
        owner: "test".to_owned(),
    }
}

pub(crate) fn block_started() -> EventKind {
    EventKind::BlockStarted {
        name: "b".into(),
        block: BlockKind::Handler,
        parent: None,
        input: Recorded::Undefined,
        versions: Vec::new(),
    }
}

pub(crate) fn finished(commits: Vec<ScopeCommit>) -> EventKind {
    EventKind::BlockFinished {
        outcome: Outcome::Completed,
        output: Some(Recorded::Value(Value::Null)),
        error: None,
        transient: false,
        memoized: false,
        commits,
    }
}

pub(crate) fn ended() -> EventKind {
    EventKind::RequestFinished { status: RequestStatus::Completed, output: None, error: None }
}
