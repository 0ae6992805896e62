//! Helpers of the tests that append to a log, and the events that they append.

use std::sync::Arc;

use engine::concurrency::{Claim, Policy};
use engine::event::{BlockKind, Event, EventKind, ForkedFrom, Outcome, Recorded, RequestStatus, ScopeCommit, Seq};
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use futures_channel::oneshot::Receiver;
use serde_json::{Map, Value, json};

/// The time of the first event, in milliseconds since 1970; each later event of a request is 1 ms later.
pub(crate) const BEGAN: i64 = 1_700_000_000_000;

/// The default owner of a request.
pub(crate) const OWNER: &str = "database.first-process";

/// The three modes of an append.
pub(crate) const MODES: [AppendMode; 3] = [AppendMode::Committed, AppendMode::Boundary, AppendMode::Evidence];

/// Waits for an answer.
#[track_caller]
pub(crate) fn wait(answer: Receiver<Result<(), AppendError>>) -> Result<(), AppendError> {
    futures_executor::block_on(answer).expect("the log answers every append")
}

/// A request that a test writes.
pub(crate) struct Request<'l> {
    pub(crate) log: &'l dyn Log,
    pub(crate) id: String,
    /// The `seq` of its newest event.
    pub(crate) last: Seq,
    pub(crate) lease: Lease,
}

impl<'l> Request<'l> {
    /// Begins a request in session `s` of user `ada`.
    #[track_caller]
    pub(crate) fn begin(log: &'l dyn Log, id: &str) -> Self {
        Self::start(log, id, Start::default()).unwrap()
    }

    /// Begins a request.
    pub(crate) fn start(log: &'l dyn Log, id: &str, start: Start) -> Result<Self, AppendError> {
        let mut request = Request::unstarted(log, id, start.owner);
        let is_queued = start.is_queued;
        let mut kinds = vec![start.event()];
        kinds.extend(is_queued.then_some(EventKind::RequestStatus { status: RequestStatus::Queued }));
        request.append(kinds)?;
        Ok(request)
    }

    /// Returns a request that has not begun.
    pub(crate) fn unstarted(log: &'l dyn Log, id: &str, owner: &str) -> Self {
        Request { log, id: id.to_owned(), last: 0, lease: Lease::first(owner) }
    }

    /// Returns the same request for another handle of the log.
    pub(crate) fn through<'o>(&self, log: &'o dyn Log) -> Request<'o> {
        Request { log, id: self.id.clone(), last: self.last, lease: self.lease.clone() }
    }

    /// Returns events that follow the newest one.
    pub(crate) fn next(&self, kinds: Vec<EventKind>) -> Vec<Event> {
        kinds.into_iter().zip(self.last + 1..).map(|(kind, seq)| event(seq, kind)).collect()
    }

    /// Appends without waiting, and counts the events as stored.
    pub(crate) fn send(&mut self, kinds: Vec<EventKind>, mode: AppendMode) -> Receiver<Result<(), AppendError>> {
        let events = self.next(kinds);
        self.last += events.len() as Seq;
        self.log.append(&self.id, &self.lease, events, mode)
    }

    /// Appends and waits for the commit. Also counts the events that a conflict leaves as stored.
    pub(crate) fn append(&mut self, kinds: Vec<EventKind>) -> Result<(), AppendError> {
        let events = self.next(kinds);
        self.append_events(events)
    }

    /// [`append`](Self::append) for existing events.
    pub(crate) fn append_events(&mut self, events: Vec<Event>) -> Result<(), AppendError> {
        let last = events.last().map_or(self.last, |event| event.seq);
        let answer = wait(self.log.append(&self.id, &self.lease, events, AppendMode::Committed));
        if matches!(answer, Ok(()) | Err(AppendError::Conflict(_))) {
            self.last = last;
        }
        answer
    }

    /// Changes a record by operations and commits them, in one append.
    pub(crate) fn write(&mut self, scope: &ScopeKey, from: u64, operations: &[Operation]) -> Result<(), AppendError> {
        self.append(write(self.last, scope, from, operations))
    }

    /// Raises the number `n` of a record by 1.
    pub(crate) fn increment(&mut self, scope: &ScopeKey, from: u64) -> Result<(), AppendError> {
        self.write(scope, from, &[increment()])
    }

    /// Takes the request over for `owner`, with the next lease and `request_resumed`.
    pub(crate) fn resume(&mut self, owner: &str) -> Result<(), AppendError> {
        let next = self.lease.next(owner);
        let before = std::mem::replace(&mut self.lease, next);
        let taken = self.append(vec![resumed(owner, self.lease.epoch)]);
        if taken.is_err() {
            self.lease = before;
        }
        taken
    }

    /// Changes the status.
    pub(crate) fn set_status(&mut self, status: RequestStatus) -> Result<(), AppendError> {
        self.append(vec![EventKind::RequestStatus { status }])
    }

    /// Ends the request with status `completed`.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        self.append(vec![finished(RequestStatus::Completed)]).unwrap();
    }
}

/// How a request begins.
pub(crate) struct Start {
    pub(crate) session: &'static str,
    pub(crate) user: &'static str,
    pub(crate) owner: &'static str,
    pub(crate) claim: Option<Claim>,
    /// Whether it waits for its key.
    pub(crate) is_queued: bool,
    pub(crate) forked_from: Option<ForkedFrom>,
}

impl Default for Start {
    fn default() -> Self {
        Start { session: "s", user: "ada", owner: OWNER, claim: None, is_queued: false, forked_from: None }
    }
}

impl Start {
    /// In this session.
    pub(crate) fn in_session(session: &'static str) -> Start {
        Start { session, ..Start::default() }
    }

    /// With a claim, in the default session.
    pub(crate) fn with_key(policy: Policy, key: &str) -> Start {
        Start { claim: Some(Claim { policy, key: key.into() }), ..Start::default() }
    }

    /// Waiting in the queue of a key.
    pub(crate) fn queued(key: &str) -> Start {
        Start { is_queued: true, ..Start::with_key(Policy::Queue, key) }
    }

    /// The first event.
    pub(crate) fn event(self) -> EventKind {
        EventKind::RequestStarted {
            flow: "support".to_owned(),
            action: "answer".to_owned(),
            session: self.session.into(),
            user: self.user.into(),
            project: None,
            ephemeral: false,
            mock: None,
            code_hash: "c0de".to_owned(),
            input: Recorded::Value(json!({ "question": "why?" })),
            retry_of: None,
            trigger: None,
            dispatched_by: None,
            owner: self.owner.to_owned(),
            claim: self.claim,
            forked_from: self.forked_from,
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
}

pub(crate) fn event(seq: Seq, kind: EventKind) -> Event {
    Event { seq, at: BEGAN + seq as i64, path: None, attempt: 0, kind }
}

/// An event of an attempt of a block.
pub(crate) fn event_of(seq: Seq, path: &str, attempt: u32, kind: EventKind) -> Event {
    Event { path: Some(path.into()), attempt, ..event(seq, kind) }
}

pub(crate) fn note(text: impl Into<String>) -> EventKind {
    EventKind::Noted { text: text.into() }
}

pub(crate) fn entry(value: impl Into<Value>) -> EventKind {
    EventKind::JournalAppended { entry: value.into() }
}

pub(crate) fn finished(status: RequestStatus) -> EventKind {
    EventKind::RequestFinished { status, output: Some(Recorded::Undefined), error: None }
}

pub(crate) fn resumed(owner: &str, epoch: u64) -> EventKind {
    EventKind::RequestResumed {
        owner: owner.to_owned(),
        epoch,
        code_hash: "c0de".to_owned(),
        mock: None,
        keeps_ended: false,
    }
}

pub(crate) fn adopted(owner: &str, epoch: u64) -> EventKind {
    EventKind::RequestAdopted { owner: owner.to_owned(), epoch }
}

pub(crate) fn block_started() -> EventKind {
    EventKind::BlockStarted {
        name: "block".into(),
        block: BlockKind::Handler,
        parent: None,
        input: Recorded::Undefined,
        versions: Vec::new(),
        fingerprint: None,
        replaces_failed: false,
    }
}

pub(crate) fn block_finished(outcome: Outcome, commits: Vec<ScopeCommit>) -> EventKind {
    EventKind::BlockFinished {
        outcome,
        output: None,
        error: None,
        caught: None,
        transient: false,
        memoized: false,
        returned_error: false,
        timed_out_ms: None,
        commits,
    }
}

pub(crate) fn callback_returned(events: Vec<Seq>, commits: Vec<ScopeCommit>) -> EventKind {
    EventKind::CallbackReturned {
        callback: "map#0".to_owned(),
        fingerprint: None,
        returned: None,
        events,
        superseded: Vec::new(),
        memoized: false,
        commits,
    }
}

/// The record of a session.
pub(crate) fn record(id: &str) -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, id)
}

pub(crate) fn increment() -> Operation {
    Operation::Increment { by: fields(json!({ "n": 1 })) }
}

pub(crate) fn patch(by: Value) -> Operation {
    Operation::Patch { fields: fields(by) }
}

pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn changed(scope: &ScopeKey, operation: Operation, version: u64) -> EventKind {
    EventKind::StateChanged { scope: scope.clone(), operation, value: None, version }
}

pub(crate) fn commit(scope: &ScopeKey, from: u64, operations: Vec<Seq>) -> ScopeCommit {
    let version = from + operations.len() as u64;
    ScopeCommit { scope: scope.clone(), from, version, operations, rebased: Vec::new() }
}

/// Operations on a record and their commit, of a request whose newest event is `last`.
pub(crate) fn write(last: Seq, scope: &ScopeKey, from: u64, operations: &[Operation]) -> Vec<EventKind> {
    let numbered = operations.iter().zip(from + 1..);
    let mut kinds: Vec<EventKind> = numbered.map(|(one, version)| changed(scope, one.clone(), version)).collect();
    let seqs = (last + 1..).take(operations.len()).collect();
    kinds.push(EventKind::Committed { commits: vec![commit(scope, from, seqs)] });
    kinds
}

/// The numbers of a request's events, in their order.
#[track_caller]
pub(crate) fn seqs(log: &dyn Log, request: &str) -> Vec<Seq> {
    log.own_events(request).unwrap().iter().map(|event| event.seq).collect()
}

/// The kinds of a request's events, in their order.
#[track_caller]
pub(crate) fn kinds(log: &dyn Log, request: &str) -> Vec<String> {
    log.own_events(request).unwrap().iter().map(|event| event.kind.name().to_owned()).collect()
}

/// The entries of a session's journal.
#[track_caller]
pub(crate) fn journal(log: &dyn Log, session: &str) -> Vec<Value> {
    log.notes(session, "", NoteKind::Journal, usize::MAX).unwrap()
}

/// What a refused append must not change: the requests' events, some records, and the journal of session `s`.
pub(crate) struct Before<'l> {
    log: &'l dyn Log,
    events: Vec<(String, Vec<Event>)>,
    records: Vec<(ScopeKey, u64, Value)>,
    journal: Vec<Value>,
}

impl<'l> Before<'l> {
    #[track_caller]
    pub(crate) fn of(log: &'l dyn Log, requests: &[&str], scopes: &[ScopeKey]) -> Self {
        let version = |scope: &ScopeKey| {
            let record = log.record(scope).unwrap();
            (scope.clone(), record.version, record.state.to_json())
        };
        Before {
            log,
            events: requests.iter().map(|id| ((*id).to_owned(), log.own_events(id).unwrap())).collect(),
            records: scopes.iter().map(version).collect(),
            journal: journal(log, "s"),
        }
    }

    /// Fails if anything changed.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self, what: &str) {
        let ids: Vec<&str> = self.events.iter().map(|(id, _)| id.as_str()).collect();
        let scopes: Vec<ScopeKey> = self.records.iter().map(|(scope, ..)| scope.clone()).collect();
        let now = Before::of(self.log, &ids, &scopes);
        assert_eq!(now.events, self.events, "{what}");
        assert_eq!(now.records, self.records, "{what}");
        assert_eq!(now.journal, self.journal, "{what}");
    }
}

/// A record's state as JSON.
#[track_caller]
pub(crate) fn state(log: &dyn Log, scope: &ScopeKey) -> Value {
    log.record(scope).unwrap().state.to_json()
}

/// A record's version.
#[track_caller]
pub(crate) fn version(log: &dyn Log, scope: &ScopeKey) -> u64 {
    log.record(scope).unwrap().version
}

/// Whether an append was refused because of exactly these records.
pub(crate) fn is_conflict(answer: &Result<(), AppendError>, scopes: &[ScopeKey]) -> bool {
    matches!(answer, Err(AppendError::Conflict(found)) if found == scopes)
}

/// Whether an append was refused because its lease is not the request's.
pub(crate) fn is_fenced(answer: &Result<(), AppendError>, id: &str) -> bool {
    matches!(answer, Err(AppendError::Fenced { request }) if request == id)
}

/// The request that holds the key for which an append was refused.
pub(crate) fn holder(answer: Result<impl Sized, AppendError>) -> Option<Arc<str>> {
    match answer {
        Err(AppendError::Busy { holder }) => Some(holder.into()),
        _ => None,
    }
}
