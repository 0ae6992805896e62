//! A log in memory: for replays, which write nothing, and for the engine's own tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_channel::oneshot;
use serde_json::Value;

use crate::model::concurrency::{Claim, status_after};
use crate::model::event::{Event, EventKind, RequestStatus};
use crate::model::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents, TICKET_MS};
use crate::model::scope::ScopeKey;
use crate::model::state::State;
use crate::views::attempts::counting;

/// Keeps everything in memory. Fulfils the promises of [`Log`] within one process, but counts every owner as alive when
/// it claims a key or waits to write, and as dead when its request is taken over. It does not copy the shared events of
/// a fork. The crate `contract` tests it.
#[derive(Default)]
pub struct MemoryLog(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    requests: Vec<RequestEvents>,
    /// The newest lease of each request. Finding it in the events would cost more with each append.
    leases: HashMap<String, Lease>,
    records: HashMap<ScopeKey, Record>,
    /// In the order of their numbers.
    tickets: Vec<Ticket>,
}

/// A request's place in the queue of the writers of some records.
struct Ticket {
    request: String,
    scopes: Vec<ScopeKey>,
    /// When it was taken or renewed, in milliseconds since the epoch.
    at: i64,
}

impl Ticket {
    fn is_valid(&self, at: i64) -> bool {
        at.saturating_sub(self.at) < TICKET_MS
    }
}

impl MemoryLog {
    /// Creates a log that holds these events of a request already. Their commits are not applied: the records are given
    /// with [`set_record`](Log::set_record).
    pub fn after(request: &str, events: Vec<Event>) -> Self {
        let leases = Lease::of(&events).map(|lease| (request.to_owned(), lease)).into_iter().collect();
        let requests = if events.is_empty() { Vec::new() } else { vec![(request.into(), events)] };
        MemoryLog(Mutex::new(Inner { requests, leases, ..Inner::default() }))
    }

    /// Returns whether a durable record was written or given.
    pub fn has_record(&self, scope: &ScopeKey) -> bool {
        self.lock().records.contains_key(scope)
    }

    /// Sets a record unless it was written or given before.
    pub fn set_missing_record(&self, scope: &ScopeKey, record: Record) {
        self.lock().records.entry(scope.clone()).or_insert(record);
    }

    /// Returns the events of a request; empty if it is unknown.
    pub fn events(&self, request: &str) -> Vec<Event> {
        let inner = self.lock();
        inner.requests.iter().find(|(id, _)| &**id == request).map(|(_, events)| events.clone()).unwrap_or_default()
    }

    /// Takes the events of a request out, whose log is empty afterwards.
    pub fn take_events(&self, request: &str) -> Vec<Event> {
        let mut inner = self.lock();
        let found = inner.requests.iter_mut().find(|(id, _)| &**id == request);
        found.map(|(_, events)| std::mem::take(events)).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    fn position(&self, request: &str) -> Option<usize> {
        self.requests.iter().position(|(id, _)| &**id == request)
    }

    /// Returns the request that holds the key of this one, or waits for it and was accepted earlier. `claim` is used if
    /// the request is not in the log yet.
    fn in_the_way_of(&self, request: &str, claim: Option<&Claim>) -> Option<String> {
        let at = self.position(request).unwrap_or(self.requests.len());
        let claim = self.requests.get(at).map_or(claim, |(_, events)| claim_of(events))?;
        if claim.starts_at_once() {
            return None;
        }
        let holds = |(other, (_, events)): &(usize, &RequestEvents)| {
            claim_of(events).is_some_and(|held| held.key == claim.key)
                && match status_after(events.iter()) {
                    Some(RequestStatus::InProgress) => *other != at,
                    Some(RequestStatus::Queued) => *other < at,
                    _ => false,
                }
        };
        self.requests.iter().enumerate().find(holds).map(|(_, (id, _))| id.to_string())
    }

    /// Returns the session in which these events start a request and its owner, if the owner is another user.
    fn owner_of_session(&self, events: &[Event]) -> Option<(String, String)> {
        let parts = |events: &[Event]| match events.first().map(|event| &event.kind) {
            Some(EventKind::RequestStarted { session, user, .. }) => Some((session.clone(), user.clone())),
            _ => None,
        };
        let (session, user) = parts(events)?;
        let known = self.requests.iter().filter_map(|(_, events)| parts(events));
        let (_, owner) = known.into_iter().find(|(known, _)| *known == session)?;
        (owner != user).then(|| (session.to_string(), owner.to_string()))
    }

    fn of_session<'i>(&'i self, session: &'i str, before: &'i str) -> impl Iterator<Item = &'i RequestEvents> {
        self.requests.iter().filter(move |(id, events)| {
            let started = events.first().map(|event| &event.kind);
            &**id != before
                && matches!(started, Some(EventKind::RequestStarted { session: own, .. }) if &**own == session)
        })
    }

    /// Returns the records for which the commits of these events are refused, in the order of the commits: those that
    /// are not at the version that is committed from, then those that another request waits for.
    fn conflicts(&self, request: &str, events: &[Event]) -> Vec<ScopeKey> {
        let commits = || events.iter().flat_map(|event| event.kind.commits());
        let mut conflicts = Vec::new();
        let mut versions: HashMap<&ScopeKey, u64> = HashMap::new();
        for commit in commits() {
            let stored = || self.records.get(&commit.scope).map_or(0, |record| record.version);
            let version = versions.insert(&commit.scope, commit.version).unwrap_or_else(stored);
            if version != commit.from && !conflicts.contains(&commit.scope) {
                conflicts.push(commit.scope.clone());
            }
        }
        let at = events.last().map_or(0, |event| event.at);
        for commit in commits() {
            if !conflicts.contains(&commit.scope) && self.is_blocked(request, &commit.scope, at) {
                conflicts.push(commit.scope.clone());
            }
        }
        conflicts
    }

    fn is_in_progress(&self, request: &str) -> bool {
        let events = self.position(request).map(|at| self.requests[at].1.iter());
        events.and_then(status_after) == Some(RequestStatus::InProgress)
    }

    /// Returns whether another request has an earlier ticket for a record, or any if this one has none.
    fn is_blocked(&self, request: &str, scope: &ScopeKey, at: i64) -> bool {
        let valid = self.tickets.iter().filter(|ticket| ticket.is_valid(at));
        let mut earlier = valid.take_while(|ticket| ticket.request != request);
        earlier.any(|ticket| ticket.scopes.contains(scope) && self.is_in_progress(&ticket.request))
    }

    fn take_ticket(&mut self, request: &str, scopes: &[ScopeKey], at: i64) {
        let mut tickets = std::mem::take(&mut self.tickets);
        tickets.retain(|ticket| ticket.is_valid(at) && self.is_in_progress(&ticket.request));
        let own = match tickets.iter_mut().find(|ticket| ticket.request == request) {
            Some(own) => Some(own),
            None if self.position(request).is_some() => {
                tickets.push(Ticket { request: request.to_owned(), scopes: Vec::new(), at });
                tickets.last_mut()
            }
            None => None,
        };
        if let Some(own) = own {
            own.at = at;
            own.scopes.extend_from_slice(scopes);
        }
        self.tickets = tickets;
    }

    fn is_first(&self, request: &str, at: i64) -> bool {
        let mut valid = self.tickets.iter().filter(|ticket| ticket.is_valid(at));
        match valid.find(|ticket| ticket.request == request) {
            Some(own) => !own.scopes.iter().any(|scope| self.is_blocked(request, scope, at)),
            None => self.position(request).is_none(),
        }
    }

    fn append(&mut self, request: &str, lease: &Lease, mut events: Vec<Event>) -> Result<(), AppendError> {
        let Some(first) = events.first() else { return Ok(()) };
        let starts = matches!(first.kind, EventKind::RequestStarted { .. });
        let known = self.position(request);
        if starts && known.is_some() {
            return Err(AppendError::Exists);
        }
        if !starts && known.is_none() {
            return Err(AppendError::Storage(format!("request \"{request}\" was never started")));
        }
        if self.leases.get(request).is_some_and(|held| !may_append(held, lease, &events)) {
            return Err(AppendError::Fenced { request: request.to_owned() });
        }
        let mut last = known.and_then(|at| self.requests[at].1.last()).map_or(0, |event| event.seq);
        for event in &events {
            if event.seq != last + 1 {
                return Err(AppendError::OutOfOrder { last, found: event.seq });
            }
            last = event.seq;
        }
        if let Some((session, user)) = self.owner_of_session(&events) {
            return Err(AppendError::NotYours { session, user });
        }
        if status_after(events.iter()) == Some(RequestStatus::InProgress)
            && let Some(holder) = self.in_the_way_of(request, claim_of(&events))
        {
            return Err(AppendError::Busy { holder });
        }
        let at = known.unwrap_or_else(|| {
            self.requests.push((request.into(), Vec::new()));
            self.requests.len() - 1
        });
        let conflicts = self.conflicts(request, &events);
        if !conflicts.is_empty() {
            for event in &mut events {
                if !event.kind.commits().is_empty() {
                    event.kind = EventKind::CommitRefused { scopes: conflicts.clone() };
                }
            }
        }
        if let Some(lease) = events.iter().rev().find_map(|event| Lease::named(&event.kind)) {
            self.leases.insert(request.to_owned(), lease);
        }
        self.requests[at].1.extend(events.iter().cloned());
        for commit in events.iter().flat_map(|event| event.kind.commits()) {
            let record = self.records.entry(commit.scope.clone()).or_default();
            let mut state: State = (*record.state).clone();
            for seq in &commit.operations {
                let own = &self.requests[at].1;
                let found = own.binary_search_by_key(seq, |event| event.seq).ok();
                match found.map(|at| &own[at].kind) {
                    Some(EventKind::StateInitialized { state: serde_json::Value::Object(fields), .. }) => {
                        state.fill_in(fields);
                    }
                    Some(EventKind::StateChanged { operation, .. }) => drop(operation.apply(&mut state)),
                    _ => {}
                }
            }
            *record = Record { version: commit.version, state: Arc::new(state) };
        }
        if events.iter().any(|event| !event.kind.commits().is_empty()) {
            self.tickets.retain(|ticket| ticket.request != request);
        }
        if conflicts.is_empty() { Ok(()) } else { Err(AppendError::Conflict(conflicts)) }
    }
}

impl Log for MemoryLog {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        _mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (sender, receiver) = oneshot::channel();
        // A caller that does not wait for the result has dropped the receiver.
        let _ = sender.send(self.lock().append(request, lease, events));
        receiver
    }

    fn set_record(&self, scope: ScopeKey, record: Record) {
        self.lock().records.insert(scope, record);
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        Ok(self.lock().records.get(scope).cloned().unwrap_or_default())
    }

    fn take_ticket(&self, request: &str, scopes: &[ScopeKey], at: i64) -> oneshot::Receiver<Result<(), AppendError>> {
        let (sender, receiver) = oneshot::channel();
        self.lock().take_ticket(request, scopes, at);
        // A caller that does not wait for the result has dropped the receiver.
        let _ = sender.send(Ok(()));
        receiver
    }

    fn is_first(&self, request: &str, at: i64) -> Result<bool, AppendError> {
        Ok(self.lock().is_first(request, at))
    }

    fn leave_ticket(&self, request: &str) {
        self.lock().tickets.retain(|ticket| ticket.request != request);
    }

    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        Ok(self.lock().in_the_way_of(request, None).is_none())
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        let inner = self.lock();
        Ok(inner.position(request).map(|at| inner.requests[at].1.clone()).unwrap_or_default())
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        let completed = |events: &[Event]| {
            let last = events.last().map(|event| &event.kind);
            matches!(last, Some(EventKind::RequestFinished { status: RequestStatus::Completed, .. }))
        };
        let inner = self.lock();
        let mut found: Vec<_> =
            inner.of_session(session, before).filter(|(_, events)| completed(events)).cloned().collect();
        found.drain(..found.len().saturating_sub(newest));
        Ok(found)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        let inner = self.lock();
        let mut notes = Vec::new();
        for (_, events) in inner.of_session(session, before) {
            notes.extend(counting(events).filter_map(|event| kind.read(&event.kind).cloned()));
        }
        notes.drain(..notes.len().saturating_sub(newest));
        Ok(notes)
    }
}

/// Returns whether an append is the owner's, or takes the request over. Whether the owner lives is not known here, so
/// any next owner may.
fn may_append(held: &Lease, lease: &Lease, events: &[Event]) -> bool {
    let taken = events.first().and_then(|event| Lease::named(&event.kind));
    held == lease || lease.epoch == held.epoch + 1 && taken.as_ref() == Some(lease)
}

fn claim_of(events: &[Event]) -> Option<&Claim> {
    match &events.first()?.kind {
        EventKind::RequestStarted { claim, .. } => claim.as_ref(),
        _ => None,
    }
}
