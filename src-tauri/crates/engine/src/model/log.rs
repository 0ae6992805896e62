//! The interface to storage, and the guarantees that the engine relies on.
//!
//! The store with SQLite implements it; nothing here may assume one process or one machine. The crate `contract` tests
//! each promise on every implementation. An implementation guarantees:
//!
//! 1. **Atomic appends.** An append's events, its commits of durable records, and every row derived
//!    from them become visible together or not at all.
//! 2. **Order.** Events of a request are kept in `seq` order without gaps; an append is refused unless each of its
//!    events follows the one before it. The first event is `request_started`. The first append of a fork continues
//!    after the events that the fork shares with another request, and the log copies those.
//! 3. **Compare-and-set.** An append that commits a record from version *n* is refused with
//!    [`AppendError::Conflict`] when the record is not at *n*. The error names each such record once, in the order of
//!    the commits. Its evidence is kept, and each event
//!    that would have committed is replaced by `commit_refused`, so that `seq` stays dense while
//!    parallel blocks append behind it.
//! 4. **Durability.** When a [`AppendMode::Committed`] append completes, a killed process loses nothing of it, nor
//!    of what was appended before it in this process, to whatever request. The other modes may complete earlier. A log
//!    that is closed in order keeps everything that was appended.
//! 5. **Visibility.** Nothing is shown to any reader before its batch is committed.
//! 6. **Concurrency keys.** An append that puts a request with a claim in progress is refused with
//!    [`AppendError::Busy`], and nothing of it is kept, while another request in progress holds the key, or a
//!    request that was accepted earlier waits for it. Requests of processes that have died do not count.
//! 7. **One owner.** An append names the [`Lease`] it is made under. It is kept only under the request's own lease,
//!    or when it takes the request over: it begins with `request_resumed` or `request_adopted`, its epoch is the
//!    next one, and no job that lives runs the request. Everything else is refused with [`AppendError::Fenced`].
//! 8. **One user.** A request whose session belongs to another user is refused with [`AppendError::NotYours`].
//! 9. **Queues.** [`Log::take_ticket`] puts a request into the queue of those who write certain records.
//!    While a ticket of an earlier number waits for a record, an append of another request that commits it is
//!    refused as by promise 3, though its version may be right; it takes a ticket itself and waits until
//!    [`Log::is_first`]. So writers that conflict take turns, and none starves. A request has one ticket, for
//!    all the records it waits for, and tickets are numbered in one order: no two requests wait for each
//!    other. A ticket ends with the next commit of its request, whichever records that names, with
//!    [`Log::leave_ticket`], when its request is no longer in progress or its owner is dead, and at the latest
//!    [`TICKET_MS`] after it was taken: nothing waits for ever.

use std::sync::Arc;

use futures_channel::oneshot;
use serde_json::Value;

use crate::model::event::{Event, EventKind};
use crate::model::scope::ScopeKey;
use crate::model::state::State;

/// When an append completes. Appends are committed in the order in which they are made, in whatever mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendMode {
    /// After its commit, which begins at once: something outside of the request may depend on it.
    Committed,
    /// A step boundary that only the request itself builds on. It completes as soon as the log's queue has room for
    /// it; in a log that waits for each boundary, after its commit. If it cannot be stored later, nothing behind it
    /// is, and the next append of the request that waits for a commit fails.
    Boundary,
    /// Events between two boundaries. It completes at once, and a failure is reported as that of a boundary.
    Evidence,
}

/// Who may append to a request: the job that runs it, and which of the request's owners that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The id of the job's database, a dot, and the name of the job's lock.
    pub owner: Arc<str>,
    /// Counts the owners of the request, from 1.
    pub epoch: u64,
}

impl Lease {
    /// The first owner of a request.
    pub fn first(owner: impl Into<Arc<str>>) -> Lease {
        Lease { owner: owner.into(), epoch: 1 }
    }

    /// Returns the newest lease in a request's events; `None` if there are none. Events that a fork shares with another
    /// request are skipped, except the first one.
    pub fn of(events: &[Event]) -> Option<Lease> {
        let common = match events.first().map(|event| &event.kind) {
            Some(EventKind::RequestStarted { forked_from: Some(from), .. }) => from.seq,
            _ => 0,
        };
        let own = events.iter().rev().filter(|event| event.seq == 1 || event.seq > common);
        own.into_iter().find_map(|event| Lease::named(&event.kind))
    }

    /// Returns the lease that an event names, if it names one.
    pub fn named(kind: &EventKind) -> Option<Lease> {
        match kind {
            EventKind::RequestStarted { owner, .. } => Some(Lease::first(owner.as_str())),
            EventKind::RequestResumed { owner, epoch, .. } | EventKind::RequestAdopted { owner, epoch } => {
                Some(Lease { owner: owner.as_str().into(), epoch: *epoch })
            }
            _ => None,
        }
    }

    /// Returns the lease with which `owner` takes the request over from this one.
    pub fn next(&self, owner: impl Into<Arc<str>>) -> Lease {
        Lease { owner: owner.into(), epoch: self.epoch + 1 }
    }
}

/// Why an append was refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// These records have changed; see promise 3.
    #[error("records changed: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Conflict(Vec<ScopeKey>),
    /// The append starts a request whose id is already in use.
    #[error("request id is already in use")]
    Exists,
    /// Another process owns the request; see promise 7.
    #[error("request \"{request}\" was taken over by another process; nothing after the last stored step was kept")]
    Fenced {
        /// The request.
        request: String,
    },
    /// The session belongs to another user; see promise 8.
    #[error("session \"{session}\" belongs to user \"{user}\"")]
    NotYours {
        /// The session.
        session: String,
        /// Whose it is.
        user: String,
    },
    /// The first event is not the next one.
    #[error("event {found} does not follow event {last}")]
    OutOfOrder {
        /// The newest event there is.
        last: u64,
        /// The first event of the append.
        found: u64,
    },
    /// The request's key is held, or waited for by an older one; see promise 6.
    #[error("request \"{holder}\" runs, or waits for its turn, and this one may not run beside it")]
    Busy {
        /// The request in the way.
        holder: String,
    },
    /// The storage failed (disk full, file gone, …); nothing of the append was kept.
    #[error("{0}")]
    Storage(String),
}

/// How long a ticket is valid, in milliseconds: longer than any queue should take, and short enough that a stopped
/// process does not block others for long.
pub const TICKET_MS: i64 = 30_000;

/// A durable record at one version. One that was never written is empty, at version 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Counts committed operations.
    pub version: u64,
    /// Its state, without defaults.
    pub state: Arc<State>,
}

/// What a session keeps besides its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// Entries of its journal.
    Journal,
    /// Its metadata.
    Metadata,
}

impl NoteKind {
    /// Returns the kind of its events.
    pub fn event(self) -> &'static str {
        match self {
            NoteKind::Journal => "journal_appended",
            NoteKind::Metadata => "metadata_set",
        }
    }

    /// Returns the value in an event of this kind; `None` for other events.
    pub fn read(self, kind: &EventKind) -> Option<&Value> {
        match (self, kind) {
            (NoteKind::Journal, EventKind::JournalAppended { entry: value })
            | (NoteKind::Metadata, EventKind::MetadataSet { metadata: value }) => Some(value),
            _ => None,
        }
    }
}

/// One request's id and events.
pub type RequestEvents = (Arc<str>, Vec<Event>);

/// Storage of event logs and durable records; see the promises above.
pub trait Log: Send + Sync {
    /// Appends events of one request under a lease. Unless it is [`AppendMode::Committed`], it may complete before it
    /// is stored; a failure is then reported by the next one that waits for its commit.
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>>;

    /// Sets a record, without an event. Only a replay does so, for records that other requests had written; a
    /// persistent log ignores it.
    fn set_record(&self, _scope: ScopeKey, _record: Record) {}

    /// Returns the newest committed version of a durable record.
    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError>;

    /// As [`record`](Self::record), for several, in their order. None is older than the call, but they need not be of
    /// one moment.
    fn records(&self, scopes: &[ScopeKey]) -> Result<Vec<Record>, AppendError> {
        scopes.iter().map(|scope| self.record(scope)).collect()
    }

    /// Takes a ticket in the queue of the writers of these records, or adds the records to the request's ticket; see
    /// promise 9. `at` is the time in milliseconds. A log with only one request needs no queue: the default.
    fn take_ticket(
        &self,
        _request: &str,
        _scopes: &[ScopeKey],
        _at: i64,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        // The caller holds the other end.
        let _ = answer.send(Ok(()));
        receiver
    }

    /// Returns whether this request has a valid ticket, and no earlier one waits for a record that this request waits
    /// for. True for an unknown request. `at` is the time in milliseconds.
    fn is_first(&self, _request: &str, _at: i64) -> Result<bool, AppendError> {
        Ok(true)
    }

    /// Removes a request's ticket, if it has one.
    fn leave_ticket(&self, _request: &str) {}

    /// Returns whether a queued request could start now. A hint: the append that puts it in progress decides.
    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError>;

    /// Returns all events of a request that were appended in this process, and those before them. Blocks until what
    /// is queued is committed.
    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError>;

    /// Returns the committed events of the `newest` completed requests of a session, each with its request, oldest
    /// first. The request `before` is left out.
    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError>;

    /// Returns the `newest` journal entries or metadata of a session, oldest first, from attempts that count. The
    /// request `before` is left out.
    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError>;
}
