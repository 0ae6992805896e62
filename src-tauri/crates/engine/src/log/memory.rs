//! A log in memory: for replays, which write nothing, and for the engine's own tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_channel::oneshot;
use serde_json::Value;

use super::{AppendError, Durability, Log, NoteKind, Record, RequestEvents};
use crate::event::{Event, EventKind, Outcome, RequestStatus};
use crate::scope::ScopeKey;
use crate::state::State;
use crate::transaction::fill;

/// Keeps everything until dropped; keeps the promises of [`Log`] within one process.
#[derive(Default)]
pub struct MemoryLog(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    requests: Vec<RequestEvents>,
    records: HashMap<ScopeKey, Record>,
}

impl MemoryLog {
    /// The events of a request.
    pub fn events(&self, request: &str) -> Vec<Event> {
        let inner = self.lock();
        inner.requests.iter().find(|(id, _)| &**id == request).map(|(_, events)| events.clone()).unwrap_or_default()
    }

    /// Starts a durable record at a value, as a replay does.
    pub fn put(&self, scope: ScopeKey, record: Record) {
        self.lock().records.insert(scope, record);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    fn append(&mut self, request: &str, mut events: Vec<Event>) -> Result<(), AppendError> {
        let starts = events.first().is_some_and(|event| matches!(event.kind, EventKind::RequestStarted { .. }));
        let at = match self.requests.iter().position(|(id, _)| &**id == request) {
            Some(_) if starts => return Err(AppendError::Exists),
            Some(at) => at,
            None => {
                self.requests.push((request.into(), Vec::new()));
                self.requests.len() - 1
            }
        };
        let last = self.requests[at].1.last().map_or(0, |event| event.seq);
        if let Some(first) = events.first()
            && first.seq != last + 1
        {
            return Err(AppendError::OutOfOrder { last, found: first.seq });
        }
        let mut conflicts = Vec::new();
        for commit in events.iter().flat_map(|event| event.kind.commits()) {
            if self.records.get(&commit.scope).map_or(0, |record| record.version) != commit.from {
                conflicts.push(commit.scope.clone());
            }
        }
        if !conflicts.is_empty() {
            for event in &mut events {
                if !event.kind.commits().is_empty() {
                    event.kind = EventKind::CommitRefused { scopes: conflicts.clone() };
                }
            }
        }
        self.requests[at].1.extend(events.iter().cloned());
        for commit in events.iter().flat_map(|event| event.kind.commits()) {
            let record = self.records.entry(commit.scope.clone()).or_default();
            let mut state: State = (*record.state).clone();
            for seq in &commit.operations {
                match self.requests[at].1.iter().find(|event| event.seq == *seq).map(|event| &event.kind) {
                    Some(EventKind::StateInitialized { state: serde_json::Value::Object(fields), .. }) => {
                        fill(&mut state, fields);
                    }
                    Some(EventKind::StateChanged { operation, .. }) => drop(operation.apply(&mut state)),
                    _ => {}
                }
            }
            *record = Record { version: commit.version, state: Arc::new(state) };
        }
        if conflicts.is_empty() { Ok(()) } else { Err(AppendError::Conflict(conflicts)) }
    }
}

impl Log for MemoryLog {
    fn append(
        &self,
        request: &str,
        events: Vec<Event>,
        _durability: Durability,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (sender, receiver) = oneshot::channel();
        // A caller that does not wait for the answer has dropped the receiver.
        let _ = sender.send(self.lock().append(request, events));
        receiver
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        Ok(self.lock().records.get(scope).cloned().unwrap_or_default())
    }

    fn session_events(&self, session: &str, before: &str, turns: usize) -> Result<Vec<RequestEvents>, AppendError> {
        let of_session = |events: &[Event]| {
            let started = matches!(&events.first().map(|event| &event.kind),
                Some(EventKind::RequestStarted { session: id, .. }) if &**id == session);
            let completed = matches!(
                events.last().map(|event| &event.kind),
                Some(EventKind::RequestFinished { status: RequestStatus::Completed, .. })
            );
            started && completed
        };
        let inner = self.lock();
        let all: Vec<_> = inner.requests.iter().filter(|(id, events)| &**id != before && of_session(events)).collect();
        Ok(all[all.len().saturating_sub(turns)..].iter().map(|&request| request.clone()).collect())
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind) -> Result<Vec<Value>, AppendError> {
        let inner = self.lock();
        let mut notes = Vec::new();
        for (id, events) in &inner.requests {
            let of_session = matches!(events.first().map(|event| &event.kind),
                Some(EventKind::RequestStarted { session: id, .. }) if &**id == session);
            if !of_session || &**id == before {
                continue;
            }
            let has_ended = |note: &Event| {
                events.iter().any(|event| {
                    event.path == note.path
                        && event.attempt == note.attempt
                        && matches!(event.kind, EventKind::BlockFinished { outcome, .. } if outcome != Outcome::Abandoned)
                })
            };
            notes.extend(
                events.iter().filter(|event| has_ended(event)).filter_map(|event| kind.read(&event.kind).cloned()),
            );
        }
        Ok(notes)
    }
}
