//! One append, in the queue and then prepared for the writing connection.
//!
//! Work that needs no database is done here. The thread that appends only measures the events, because the queue is
//! bounded by bytes; the thread that commits serializes and hashes them, so that the request goes on meanwhile.

use std::sync::Arc;

use engine::event::{Event, EventKind, ForkedFrom, Seq};
use engine::log::{AppendError, AppendMode, Lease};
use engine::scope::ScopeKey;
use futures_channel::oneshot;

use crate::Committed;
use crate::row::body::{self, Body};
use crate::row::error::Error;
use crate::row::measure;
use crate::write::replacement::Replacement;

/// Sends the result of an append to its caller.
pub(crate) type Answer = oneshot::Sender<Result<(), AppendError>>;

/// What an event takes besides its values, about, in bytes.
const BYTES_PER_EVENT: usize = 100;

/// An append in the queue.
#[derive(Debug)]
pub(crate) struct QueuedAppend {
    request: Arc<str>,
    lease: Lease,
    events: Vec<Event>,
    pub(crate) mode: AppendMode,
    /// The log whose place it takes.
    pub(crate) replaces: Option<Replacement>,
    /// To be answered after the commit; none if it was answered before.
    pub(crate) answer: Option<Answer>,
    /// About how many bytes its events take.
    pub(crate) bytes: usize,
}

impl QueuedAppend {
    pub(crate) fn new(request: &str, lease: &Lease, events: Vec<Event>, mode: AppendMode, answer: Answer) -> Self {
        let bytes = events.iter().map(|event| BYTES_PER_EVENT + measure::value_bytes(&event.kind)).sum();
        QueuedAppend {
            request: request.into(),
            lease: lease.clone(),
            events,
            mode,
            replaces: None,
            answer: Some(answer),
            bytes,
        }
    }

    /// Serializes the events. An error is kept in the batch, and reported as one of the storage.
    pub(crate) fn prepare(self) -> AppendBatch {
        let QueuedAppend { request, lease, events, replaces, answer, .. } = self;
        let (drafts, unwritable) = match events.into_iter().map(Draft::new).collect::<Result<_, Error>>() {
            Ok(drafts) => (drafts, None),
            Err(error) => (Vec::new(), Some(AppendError::from(error))),
        };
        AppendBatch { request, lease: Some(lease), drafts, replaces, unwritable, conflict: None, answer }
    }
}

/// The events of one append: stored together or not at all.
#[derive(Debug)]
pub(crate) struct AppendBatch {
    pub(crate) request: Arc<str>,
    /// The lease of the append. None for an import, whose events name the owners of another database.
    pub(crate) lease: Option<Lease>,
    pub(crate) drafts: Vec<Draft>,
    /// The log whose place it takes.
    pub(crate) replaces: Option<Replacement>,
    /// Why its events cannot be serialized, if they cannot.
    pub(crate) unwritable: Option<AppendError>,
    /// Set when its commits were refused: the records that were at other versions.
    pub(crate) conflict: Option<Vec<ScopeKey>>,
    pub(crate) answer: Option<Answer>,
}

/// An event, and what is stored of it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) event: Event,
    pub(crate) body: Body,
    /// The length of the flow's own values in it, as JSON.
    pub(crate) value_bytes: usize,
}

/// A batch that is stored.
pub(crate) struct CommittedBatch {
    /// Its events, as listeners get them.
    pub(crate) committed: Committed,
    /// The length of the flow's own values in them, as JSON.
    pub(crate) bytes: usize,
}

impl AppendBatch {
    /// The batch as it is stored; none if it has no events. Its events are taken out.
    pub(crate) fn take_stored(&mut self) -> Option<CommittedBatch> {
        let drafts = std::mem::take(&mut self.drafts);
        let bytes = drafts.iter().map(|draft| draft.value_bytes).sum();
        let events: Arc<[Event]> = drafts.into_iter().map(|draft| draft.event).collect();
        (!events.is_empty())
            .then(|| CommittedBatch { committed: Committed { request: self.request.clone(), events }, bytes })
    }

    /// Prepares events of an import.
    pub(crate) fn imported(request: &str, events: Vec<Event>) -> Result<AppendBatch, Error> {
        let drafts = events.into_iter().map(Draft::new).collect::<Result<_, _>>()?;
        let request = request.into();
        let (unwritable, conflict, answer) = (None, None, None);
        Ok(AppendBatch { request, lease: None, drafts, replaces: None, unwritable, conflict, answer })
    }

    /// Replaces each event that commits by `commit_refused`, so that `seq` has no gap (promise 3 of the log).
    pub(crate) fn refuse_commits(&mut self, scopes: Vec<ScopeKey>) -> Result<(), Error> {
        for draft in self.drafts.iter_mut().filter(|draft| !draft.event.kind.commits().is_empty()) {
            draft.event.kind = EventKind::CommitRefused { scopes: scopes.clone() };
            draft.body = body::of_event(&draft.event.kind)?;
            draft.value_bytes = 0;
        }
        self.conflict = Some(scopes);
        Ok(())
    }

    /// The lease that its first event gives the request, if it is an event of a new owner.
    pub(crate) fn new_lease(&self) -> Option<Lease> {
        self.drafts.first().and_then(|draft| Lease::named(&draft.event.kind))
    }

    /// Whether it begins with the event by which somebody takes a request up again.
    pub(crate) fn resumes(&self) -> bool {
        self.drafts.first().is_some_and(|draft| matches!(draft.event.kind, EventKind::RequestResumed { .. }))
    }

    /// Whether its request is from another database or another program, with users that are not those of this one.
    pub(crate) fn is_from_elsewhere(&self) -> bool {
        let first = self.drafts.first().map(|draft| &draft.event.kind);
        self.lease.is_none() || matches!(first, Some(EventKind::RequestStarted { foreign: Some(_), .. }))
    }

    /// Whether it starts a request.
    pub(crate) fn starts_request(&self) -> bool {
        self.drafts.first().is_some_and(|draft| matches!(draft.event.kind, EventKind::RequestStarted { .. }))
    }

    /// The request and event that it starts a fork of.
    pub(crate) fn forked_from(&self) -> Option<&ForkedFrom> {
        match self.drafts.first().map(|draft| &draft.event.kind) {
            Some(EventKind::RequestStarted { forked_from, .. }) => forked_from.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn answer(&mut self, result: Result<(), AppendError>) {
        if let Some(answer) = self.answer.take() {
            // A caller that does not wait has dropped the receiver.
            let _ = answer.send(result);
        }
    }
}

impl Draft {
    fn new(event: Event) -> Result<Draft, Error> {
        let body = body::of_event(&event.kind)?;
        let value_bytes = measure::value_bytes(&event.kind);
        Ok(Draft { event, body, value_bytes })
    }
}

/// As [`sequence_gap`], for the first batch of a fork: event 1, then the events after those that it copies.
pub(crate) fn fork_sequence_gap(from: &ForkedFrom, drafts: &[Draft]) -> Option<AppendError> {
    sequence_gap(0, &drafts[..1]).or_else(|| sequence_gap(from.seq, &drafts[1..]))
}

/// Returns what is wrong with the epochs in an imported batch, which has no lease: each owner's epoch must be the one
/// after the previous owner's.
pub(crate) fn skipped_epoch(lease: &Lease, batch: &AppendBatch) -> Option<AppendError> {
    if batch.lease.is_some() {
        return None;
    }
    let mut last = lease.epoch;
    for draft in &batch.drafts {
        let takes = matches!(draft.event.kind, EventKind::RequestResumed { .. } | EventKind::RequestAdopted { .. });
        let Some(lease) = Lease::named(&draft.event.kind).filter(|_| takes) else { continue };
        if lease.epoch != last + 1 {
            let (request, found) = (&batch.request, lease.epoch);
            let message = format!("request \"{request}\" is taken over with epoch {found} after epoch {last}");
            return Some(AppendError::Storage(message));
        }
        last = lease.epoch;
    }
    None
}

/// Returns the first event whose `seq` is not the one after the previous event's. `last` is the newest event stored.
pub(crate) fn sequence_gap(last: Seq, drafts: &[Draft]) -> Option<AppendError> {
    let mut last = last;
    for draft in drafts {
        let seq = draft.event.seq;
        if seq != last + 1 {
            return Some(AppendError::OutOfOrder { last, found: seq });
        }
        last = seq;
    }
    None
}
