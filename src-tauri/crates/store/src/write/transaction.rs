//! One transaction: which batches may be kept, and the rows they become.
//!
//! A batch is checked before its first row is written, so a refused one leaves nothing behind and
//! needs no savepoint. An `Err` means the transaction is spoilt and must be rolled back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{Event, EventKind, ForkedFrom, RequestStatus, Seq};
use engine::log::{AppendError, Lease, Record};
use engine::scope::ScopeKey;
use engine::views::attempts::verdict;
use rusqlite::{CachedStatement, Connection};

use crate::file::open::Owners;
use crate::read::{events, states};
use crate::row::attempts::{self, RolledBackAttempt};
use crate::row::error::Error;
use crate::row::filter_block::UnindexedTail;
use crate::row::totals::{self, Sums};
use crate::row::{body, payload};
use crate::write::append_batch::{AppendBatch, Draft};
use crate::write::live::{Memory, Request};
use crate::write::scopes::Step;
use crate::write::{import_marks, rows, turns, writer_queue};

/// What an operation that was written before a restart is taken to weigh.
const FORGOTTEN_BYTES: usize = 512;

/// A transaction in progress.
pub(crate) struct Transaction<'a> {
    connection: &'a Connection,
    /// Writes an event: looked up once for all of a transaction.
    insert: CachedStatement<'a>,
    memory: &'a mut Memory,
    owners: &'a Owners,
    sessions: HashMap<i64, Touched>,
    /// Scopes whose rows lag behind.
    stepped: HashSet<ScopeKey>,
    /// Requests that write no more for now.
    left: Vec<Arc<str>>,
    /// Bytes of JSON that were stored for large values.
    stored: i64,
}

/// What a session's row has to learn.
struct Touched {
    at: i64,
    items: i64,
}

impl Default for Touched {
    fn default() -> Self {
        // Before every date: an import may bring any.
        Touched { at: i64::MIN, items: 0 }
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(connection: &'a Connection, memory: &'a mut Memory, owners: &'a Owners) -> Result<Self, Error> {
        let insert = connection.prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        Ok(Transaction {
            connection,
            insert,
            memory,
            owners,
            sessions: HashMap::new(),
            stepped: HashSet::new(),
            left: Vec::new(),
            stored: 0,
        })
    }

    /// Writes one batch, or answers why it may not be kept. A batch that lost the race for a record is
    /// kept without its commits, and remembers that.
    pub(crate) fn add(&mut self, batch: &mut AppendBatch) -> Result<Result<(), AppendError>, Error> {
        let Some(first) = batch.drafts.first() else {
            return Ok(Ok(()));
        };
        let mut request = match (self.memory.take(self.connection, &batch.request)?, batch.starts()) {
            (Some(known), starts) => {
                let refusal = if starts {
                    Some(AppendError::Exists)
                } else if self.is_fenced(&known, batch)? {
                    Some(AppendError::Fenced { request: batch.request.to_string() })
                } else {
                    gap(known.last, &batch.drafts)
                };
                if let Some(refusal) = refusal {
                    self.memory.put(batch.request.clone(), known);
                    return Ok(Err(refusal));
                }
                if let Some(holder) = turns::in_the_way_of(self.connection, batch, Some(known.n), self.owners)? {
                    self.memory.put(batch.request.clone(), known);
                    return Ok(Err(AppendError::Busy { holder }));
                }
                known
            }
            (None, true) => {
                if let Some(refusal) =
                    batch.forked_from().map_or_else(|| gap(0, &batch.drafts), |from| fork_gap(from, &batch.drafts))
                {
                    return Ok(Err(refusal));
                }
                if let Some(holder) = turns::in_the_way_of(self.connection, batch, None, self.owners)? {
                    return Ok(Err(AppendError::Busy { holder }));
                }
                match rows::begin(self.connection, &batch.request, &first.event, batch.lease.is_none())? {
                    Ok(begun) => begun,
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
            (None, false) => {
                let message = format!("request \"{}\" was never started", batch.request);
                return Ok(Err(AppendError::Storage(message)));
            }
        };
        if let Some(refusal) = skipped_epoch(&request.lease, batch) {
            self.memory.put(batch.request.clone(), request);
            return Ok(Err(refusal));
        }
        let conflicts = self.conflicts(&batch.drafts, request.n)?;
        if !conflicts.is_empty() {
            batch.refuse_commits(conflicts)?;
        } else if batch.drafts.iter().any(|draft| !draft.event.kind.commits().is_empty())
            && writer_queue::waits(self.memory.tickets(self.connection)?, request.n)
        {
            writer_queue::leave(self.connection, request.n)?;
            self.memory.forget_tickets();
        }
        for draft in &batch.drafts {
            self.write(&mut request, draft)?;
            if let Some(lease) = Lease::named(&draft.event.kind) {
                request.lease = lease;
            }
            if let EventKind::RequestStarted { forked_from: Some(from), session, .. } = &draft.event.kind {
                self.copy(&mut request, session, from)?;
            }
        }
        let ends = batch.drafts.iter().any(|draft| is_end(&draft.event.kind));
        if ends {
            request.tail.end(self.connection, request.n, request.last)?;
        }
        if ends || batch.forked_from().is_some() {
            self.left.push(batch.request.clone());
        }
        self.memory.put(batch.request.clone(), request);
        Ok(Ok(()))
    }

    /// Whether somebody else owns the request: the append is neither its owner's nor that of somebody who may
    /// take it over.
    fn is_fenced(&self, known: &Request, batch: &AppendBatch) -> Result<bool, Error> {
        let Some(lease) = batch.lease.as_ref().filter(|lease| **lease != known.lease) else { return Ok(false) };
        if lease.epoch != known.lease.epoch + 1 || batch.taker().as_ref() != Some(lease) {
            return Ok(true);
        }
        let status: String = self
            .connection
            .prepare_cached("SELECT status FROM request WHERE n = ?1")?
            .query_row((known.n,), |row| row.get(0))?;
        // What waits for somebody, or has ended, needs no owner.
        Ok(matches!(status.as_str(), "queued" | "in_progress") && self.owners.is_alive(&known.lease.owner))
    }

    /// Puts records in force from here on, as an import brings them.
    pub(crate) fn carry(&mut self, records: &[(ScopeKey, Record)]) -> Result<(), Error> {
        if records.is_empty() {
            return Ok(());
        }
        let mark = self.memory.next_event(self.connection)?;
        import_marks::mark(self.connection, mark)?;
        for (scope, record) in records {
            let known = self.memory.scope_or_new(self.connection, scope, None)?;
            self.stored += known.carry(self.connection, mark, record)? as i64;
            self.stepped.insert(scope.clone());
        }
        Ok(())
    }

    /// Writes what is kept once a transaction: counters and newest versions. Answers whether a record that
    /// outlives requests was written.
    pub(crate) fn close(self) -> Result<bool, Error> {
        let mut has_records = false;
        for (session, touched) in &self.sessions {
            self.connection
                .prepare_cached("UPDATE session SET updated_at = max(updated_at, ?2), items = items + ?3 WHERE n = ?1")?
                .execute((session, touched.at, touched.items))?;
        }
        for key in &self.stepped {
            if let Some(scope) = self.memory.scope(self.connection, key)? {
                has_records |= scope.save(self.connection)?;
            }
        }
        for request in &self.left {
            self.memory.leave(request);
        }
        totals::store(self.connection, self.stored)?;
        Ok(has_records)
    }

    /// The records that are not at the version these events commit from, and those that another request has
    /// waited for longer.
    fn conflicts(&mut self, drafts: &[Draft], request: i64) -> Result<Vec<ScopeKey>, Error> {
        let mut conflicts = Vec::new();
        let mut versions: HashMap<&ScopeKey, u64> = HashMap::new();
        for commit in drafts.iter().flat_map(|draft| draft.event.kind.commits()) {
            let version = match versions.get(&commit.scope) {
                Some(version) => *version,
                None => self.memory.scope(self.connection, &commit.scope)?.map_or(0, |scope| scope.version),
            };
            if version != commit.from && !conflicts.contains(&commit.scope) {
                conflicts.push(commit.scope.clone());
            }
            versions.insert(&commit.scope, commit.version);
        }
        let at = drafts.last().map_or(0, |draft| draft.event.at);
        for scope in versions.into_keys() {
            let tickets = self.memory.tickets(self.connection)?;
            if !conflicts.contains(scope) && writer_queue::is_in_the_way(tickets, request, scope, at, self.owners) {
                conflicts.push(scope.clone());
            }
        }
        Ok(conflicts)
    }

    fn write(&mut self, request: &mut Request, draft: &Draft) -> Result<(), Error> {
        let event = &draft.event;
        let path = match &event.path {
            Some(path) => Some(self.memory.path(self.connection, path)?),
            None => None,
        };
        let row = self.memory.next_event(self.connection)?;
        for payload in &draft.body.payloads {
            self.stored += payload::keep(self.connection, payload)? as i64;
        }
        self.insert.execute((
            row,
            request.n,
            event.seq,
            event.at,
            event.kind.name(),
            path,
            event.attempt,
            &draft.body.text,
            body::sum(&draft.body.text),
        ))?;
        request.last = event.seq;
        let sums = Sums::of(&event.kind, draft.value_bytes, draft.body.text.len());
        request.tail.follow(self.connection, request.n, event.seq, Some(&event.kind), &draft.trigrams, sums)?;
        self.derive_rows(request, event, row)?;
        self.derive_state(request, draft, row)
    }

    fn copy(&mut self, request: &mut Request, session: &str, from: &ForkedFrom) -> Result<(), Error> {
        let last = self.memory.take_events(self.connection, from.seq as i64 - 1)?;
        let (events, items) = rows::copy(self.connection, request.n, session, from, last)?;
        if events + 1 != from.seq as i64 {
            return Err(Error::Damaged(format!("request \"{}\" has no event {}", from.request_id, from.seq)));
        }
        request.last = from.seq;
        request.tail = UnindexedTail::load(self.connection, request.n, from.seq)?;
        for kind in events::of_kind(self.connection, request.n, "metadata_set")? {
            rows::follow_title(self.connection, request, &kind)?;
        }
        self.sessions.entry(request.session).or_default().items += items;
        Ok(())
    }

    fn derive_rows(&mut self, request: &Request, event: &Event, row: i64) -> Result<(), Error> {
        let items = totals::items(&event.kind);
        if items > 0 || rows::is_of_request(&event.kind) {
            let touched = self.sessions.entry(request.session).or_default();
            touched.at = touched.at.max(event.at);
            touched.items += items;
        }
        rows::follow(self.connection, request, event, row)
    }

    fn derive_state(&mut self, request: &mut Request, draft: &Draft, row: i64) -> Result<(), Error> {
        let (event, bytes) = (&draft.event, draft.value_bytes);
        match &event.kind {
            EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. }
                if scope.kind.is_durable() =>
            {
                request.operations.insert(event.seq, bytes);
            }
            EventKind::StateInitialized { scope, .. } => {
                let version = self.memory.scope(self.connection, scope)?.map_or(0, |known| known.version);
                let step = Step { event: row, version, bytes, operations: None };
                self.step(scope, Some(request.n), &step)?;
                request.scopes.push(scope.clone());
            }
            EventKind::StateChanged { scope, version, .. } => {
                let step = Step { event: row, version: *version, bytes, operations: None };
                let n = self.step(scope, Some(request.n), &step)?;
                request.attempts.wrote(event.path.as_ref(), event.attempt, (n, row));
            }
            _ => {}
        }
        for commit in event.kind.commits() {
            let weigh = |seq: &Seq| request.operations.remove(seq).unwrap_or(FORGOTTEN_BYTES);
            let bytes = commit.operations.iter().map(weigh).sum();
            let operations = Some(states::write_operations(event.seq, &commit.operations));
            self.step(&commit.scope, None, &Step { event: row, version: commit.version, bytes, operations })?;
        }
        if matches!(event.kind, EventKind::CallbackReturned { .. })
            && request.attempts.has_written(event.path.as_ref(), event.attempt)
        {
            for scope in attempts::settle(self.connection, request.n, attempts::settled(&event.kind))? {
                self.memory.weigh_again(self.connection, scope)?;
            }
        }
        let withdrawn = request.attempts.follow(event.path.as_ref(), event.attempt, verdict(&event.kind));
        withdrawn.iter().try_for_each(|withdrawn| self.withdraw(withdrawn, row))
    }

    /// Answers the scope's number.
    fn step(&mut self, scope: &ScopeKey, request: Option<i64>, step: &Step) -> Result<i64, Error> {
        let known = self.memory.scope_or_new(self.connection, scope, request)?;
        self.stored += known.step(self.connection, step)? as i64;
        self.stepped.insert(scope.clone());
        Ok(known.n)
    }

    fn withdraw(&mut self, withdrawn: &RolledBackAttempt, row: i64) -> Result<(), Error> {
        let (path, attempt) = &withdrawn.attempt;
        let path = self.memory.path(self.connection, path)?;
        for (scope, first) in &withdrawn.writes {
            self.connection
                .prepare_cached(
                    "INSERT INTO attempt_rollback (scope, event, path, attempt, first) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((scope, row, path, attempt, first))?;
            // Only a keyframe that holds the writes is of no use from now on.
            let mut holds =
                self.connection.prepare_cached("SELECT 1 FROM keyframe WHERE scope = ?1 AND event >= ?2 LIMIT 1")?;
            if holds.exists((scope, first))? {
                self.memory.weigh_again(self.connection, *scope)?;
            }
        }
        Ok(())
    }
}

/// Whether the request writes no more until somebody takes it up again.
fn is_end(kind: &EventKind) -> bool {
    match kind {
        EventKind::RequestFinished { .. } => true,
        EventKind::RequestStatus { status } => !matches!(status, RequestStatus::InProgress | RequestStatus::Queued),
        _ => false,
    }
}

/// As [`gap`], of a fork: its first event, then those after what it has in common with another request.
fn fork_gap(from: &ForkedFrom, drafts: &[Draft]) -> Option<AppendError> {
    gap(0, &drafts[..1]).or_else(|| gap(from.seq, &drafts[1..]))
}

/// What is wrong with the epochs of events that come without a lease: each owner's is the one after the last.
fn skipped_epoch(lease: &Lease, batch: &AppendBatch) -> Option<AppendError> {
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

/// What is wrong with the numbers of these events, if anything is.
fn gap(last: Seq, drafts: &[Draft]) -> Option<AppendError> {
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

#[cfg(test)]
mod tests;
