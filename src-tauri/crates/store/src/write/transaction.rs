//! The rows that one transaction writes: which batches are accepted, their events, and what is derived from them.
//!
//! A batch is checked before its first row is written, so a refused one leaves no rows and needs no savepoint. After
//! an `Err` the transaction must be rolled back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sql::{Connection, Statement};
use engine::event::{Event, EventKind, ForkedFrom, RequestStatus, Seq};
use engine::log::{AppendError, Lease, Record};
use engine::scope::ScopeKey;
use engine::views::attempts::verdict;

use crate::file::owners::Owners;
use crate::read::{events, states};
use crate::row::attempts::{self, RolledBackAttempt};
use crate::row::error::Error;
use crate::row::filter_block;
use crate::row::totals;
use crate::row::{body, payload};
use crate::write::append_batch::{AppendBatch, Draft, fork_sequence_gap, sequence_gap, skipped_epoch};
use crate::write::record_cache::ChangedRecord;
use crate::write::scopes::Change;
use crate::write::writer_cache::{CachedRequest, WriterCache};
use crate::write::{claims, import_boundaries, open_attempts, replacement, rows, writer_queue};

/// The size that is assumed for an operation whose event was written before the cache was filled.
const DEFAULT_OPERATION_BYTES: usize = 512;

/// Writes the rows of one transaction, which the caller begins and ends.
pub(crate) struct TransactionRows<'a> {
    connection: &'a Connection,
    /// The statement that inserts an event, prepared once for the transaction.
    insert: Statement<'a>,
    cache: &'a mut WriterCache,
    owners: &'a Owners,
    sessions: HashMap<i64, SessionDelta>,
    /// Scopes whose row in `scope` must be updated by [`finish`](Self::finish).
    changed_scopes: HashSet<ScopeKey>,
    /// Requests to forget after the transaction: they have ended or wait, and will not append soon.
    idle_requests: Vec<Arc<str>>,
    /// Bytes of JSON that were added to `payload`.
    payload_bytes: i64,
}

/// What the transaction changes in a session's row: its last event's time, and the number of items added.
struct SessionDelta {
    at: i64,
    items: i64,
}

impl Default for SessionDelta {
    fn default() -> Self {
        // Times of an import may be before 1970, so 0 is no neutral element of `max`.
        SessionDelta { at: i64::MIN, items: 0 }
    }
}

impl<'a> TransactionRows<'a> {
    pub(crate) fn new(
        connection: &'a Connection,
        cache: &'a mut WriterCache,
        owners: &'a Owners,
    ) -> Result<Self, Error> {
        let insert = connection.prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, body_checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        Ok(TransactionRows {
            connection,
            insert,
            cache,
            owners,
            sessions: HashMap::new(),
            changed_scopes: HashSet::new(),
            idle_requests: Vec::new(),
            payload_bytes: 0,
        })
    }

    /// Writes the rows of one batch, or returns why it is refused. A batch whose commit lost the race for a record is
    /// written with `commit_refused` instead, and has the records in `conflict`.
    pub(crate) fn add(&mut self, batch: &mut AppendBatch) -> Result<Result<(), AppendError>, Error> {
        let Some(first) = batch.drafts.first() else {
            return Ok(Ok(()));
        };
        let mut known = self.cache.take_request(self.connection, &batch.request, batch.resumes())?;
        if !replacement::make_room(self.connection, batch, &mut known)? {
            return Ok(Err(AppendError::Exists));
        }
        let mut request = match (known, batch.starts_request()) {
            (Some(known), starts) => {
                let refusal = if starts {
                    Some(AppendError::Exists)
                } else if self.is_fenced(&known, batch)? {
                    Some(AppendError::Fenced { request: batch.request.to_string() })
                } else {
                    sequence_gap(known.last, &batch.drafts)
                };
                if let Some(refusal) = refusal {
                    self.put_back(batch, known);
                    return Ok(Err(refusal));
                }
                if let Some(holder) = claims::blocking_request(self.connection, batch, Some(known.n), self.owners)? {
                    self.put_back(batch, known);
                    return Ok(Err(AppendError::Busy { holder }));
                }
                known
            }
            (None, true) => {
                if let Some(refusal) = batch
                    .forked_from()
                    .map_or_else(|| sequence_gap(0, &batch.drafts), |from| fork_sequence_gap(from, &batch.drafts))
                {
                    return Ok(Err(refusal));
                }
                if let Some(holder) = claims::blocking_request(self.connection, batch, None, self.owners)? {
                    return Ok(Err(AppendError::Busy { holder }));
                }
                match rows::insert_request(self.connection, &batch.request, &first.event, batch.is_from_elsewhere())? {
                    Ok(inserted) => inserted,
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
            (None, false) => {
                let message = format!("request \"{}\" was never started", batch.request);
                return Ok(Err(AppendError::Storage(message)));
            }
        };
        if let Some(refusal) = skipped_epoch(&request.lease, batch) {
            self.put_back(batch, request);
            return Ok(Err(refusal));
        }
        let conflicts = self.conflicts(&batch.drafts, request.n)?;
        if !conflicts.is_empty() {
            batch.refuse_commits(conflicts)?;
        } else if batch.drafts.iter().any(|draft| !draft.event.kind.commits().is_empty())
            && writer_queue::has_ticket(self.cache.tickets(self.connection)?, request.n)
        {
            writer_queue::leave(self.connection, request.n)?;
            self.cache.forget_tickets();
        }
        for draft in &batch.drafts {
            self.write(&mut request, draft)?;
            if let Some(lease) = Lease::named(&draft.event.kind) {
                request.lease = lease;
            }
            if let EventKind::RequestStarted { forked_from: Some(from), session, .. } = &draft.event.kind {
                self.copy_common_events(&mut request, session, from)?;
            }
        }
        let ends = batch.drafts.iter().any(|draft| is_pause(&draft.event.kind));
        if ends || batch.forked_from().is_some() {
            self.idle_requests.push(batch.request.clone());
        }
        replacement::attach(self.connection, batch, request.n)?;
        self.cache.put_request(batch.request.clone(), request);
        Ok(Ok(()))
    }

    /// Puts a request back into the cache whose batch is refused. What was read for a resume may lack attempts.
    fn put_back(&mut self, batch: &AppendBatch, request: CachedRequest) {
        if !batch.resumes() {
            self.cache.put_request(batch.request.clone(), request);
        }
    }

    /// Whether the batch must be refused because its lease is neither the request's own nor the next one, taken over
    /// from an owner that is dead or no longer needed (promise 7 of the log).
    fn is_fenced(&self, known: &CachedRequest, batch: &AppendBatch) -> Result<bool, Error> {
        let Some(lease) = batch.lease.as_ref().filter(|lease| **lease != known.lease) else { return Ok(false) };
        if lease.epoch != known.lease.epoch + 1 || batch.new_lease().as_ref() != Some(lease) {
            return Ok(true);
        }
        let status: String = self
            .connection
            .prepare_cached("SELECT status FROM request WHERE n = ?1")?
            .query_row((known.n,), |row| row.get(0))?;
        // A request that is suspended or has ended needs no owner, so it may be taken over from a living one.
        Ok(matches!(status.as_str(), "queued" | "in_progress") && self.owners.is_alive(&known.lease.owner))
    }

    /// Sets records to the states that an import brings, at a `records_imported` event that this writes.
    pub(crate) fn put_records(&mut self, records: &[(ScopeKey, Record)]) -> Result<(), Error> {
        if records.is_empty() {
            return Ok(());
        }
        let boundary = self.cache.next_event_id(self.connection)?;
        import_boundaries::insert(self.connection, boundary)?;
        for (scope, record) in records {
            let known = self.cache.scope_or_insert(self.connection, scope, None)?;
            self.payload_bytes += known.put_record(self.connection, boundary, record)? as i64;
            self.changed_scopes.insert(scope.clone());
        }
        Ok(())
    }

    /// Writes what is updated once for each transaction: the counters of sessions, and the newest versions of scopes.
    /// Returns the durable records that were written.
    pub(crate) fn finish(self) -> Result<Vec<ChangedRecord>, Error> {
        let mut changed = Vec::new();
        for (session, delta) in &self.sessions {
            self.connection
                .prepare_cached("UPDATE session SET updated_at = max(updated_at, ?2), items = items + ?3 WHERE n = ?1")?
                .run((session, delta.at, delta.items))?;
        }
        for key in self.changed_scopes {
            if let Some(scope) = self.cache.scope(self.connection, &key)?
                && let Some(last) = scope.save(self.connection)?
            {
                changed.push(ChangedRecord { scope: key, last });
            }
        }
        for request in &self.idle_requests {
            self.cache.forget_request(request);
        }
        totals::add_payload_bytes(self.connection, self.payload_bytes)?;
        Ok(changed)
    }

    /// Returns the records for which the commits of these events must be refused: those that are not at the version
    /// that is committed from, and those that another request has an older ticket for.
    fn conflicts(&mut self, drafts: &[Draft], request: i64) -> Result<Vec<ScopeKey>, Error> {
        let mut conflicts = Vec::new();
        let mut versions: HashMap<&ScopeKey, u64> = HashMap::new();
        for commit in drafts.iter().flat_map(|draft| draft.event.kind.commits()) {
            let version = match versions.get(&commit.scope) {
                Some(version) => *version,
                None => self.cache.scope(self.connection, &commit.scope)?.map_or(0, |scope| scope.version),
            };
            if version != commit.from && !conflicts.contains(&commit.scope) {
                conflicts.push(commit.scope.clone());
            }
            versions.insert(&commit.scope, commit.version);
        }
        let at = drafts.last().map_or(0, |draft| draft.event.at);
        // In the order of the commits, so that the same refusal is recorded the same way.
        for scope in drafts.iter().flat_map(|draft| draft.event.kind.commits()).map(|commit| &commit.scope) {
            let tickets = self.cache.tickets(self.connection)?;
            if !conflicts.contains(scope) && writer_queue::is_blocked(tickets, request, scope, at, self.owners) {
                conflicts.push(scope.clone());
            }
        }
        Ok(conflicts)
    }

    fn write(&mut self, request: &mut CachedRequest, draft: &Draft) -> Result<(), Error> {
        let event = &draft.event;
        let path = match &event.path {
            Some(path) => Some(self.cache.path_row(self.connection, path)?),
            None => None,
        };
        let row = self.cache.next_event_id(self.connection)?;
        for payload in &draft.body.payloads {
            self.payload_bytes += payload::insert(self.connection, payload)? as i64;
        }
        self.insert.run((
            row,
            request.n,
            event.seq,
            event.at,
            event.kind.name(),
            path,
            event.attempt,
            &draft.body.text,
            body::checksum(&draft.body.text),
        ))?;
        request.last = event.seq;
        if request.is_indexed {
            filter_block::set_unindexed_from(self.connection, request.n, Some(event.seq))?;
            request.is_indexed = false;
        }
        self.derive_rows(request, event, row)?;
        self.derive_state(request, draft, row)
    }

    /// Copies the events of a fork that precede it, with the items and the title that follow from them.
    fn copy_common_events(
        &mut self,
        request: &mut CachedRequest,
        session: &str,
        from: &ForkedFrom,
    ) -> Result<(), Error> {
        let last = self.cache.reserve_events(self.connection, from.seq as i64 - 1)?;
        let (events, items) = rows::copy_common_events(self.connection, request.n, session, from, last)?;
        if events + 1 != from.seq as i64 {
            return Err(Error::Damaged(format!("request \"{}\" has no event {}", from.request_id, from.seq)));
        }
        request.last = from.seq;
        for kind in events::of_kind(self.connection, request.n, "metadata_set")? {
            rows::update_title(self.connection, request, &kind)?;
        }
        self.sessions.entry(request.session).or_default().items += items;
        Ok(())
    }

    fn derive_rows(&mut self, request: &CachedRequest, event: &Event, row: i64) -> Result<(), Error> {
        let items = totals::items(&event.kind);
        if items > 0 || rows::changes_request(&event.kind) {
            let delta = self.sessions.entry(request.session).or_default();
            delta.at = delta.at.max(event.at);
            delta.items += items;
        }
        rows::update(self.connection, request, event, row)
    }

    fn derive_state(&mut self, request: &mut CachedRequest, draft: &Draft, row: i64) -> Result<(), Error> {
        let (event, bytes) = (&draft.event, draft.value_bytes);
        match &event.kind {
            EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. }
                if scope.kind.is_durable() =>
            {
                request.operations.insert(event.seq, bytes);
            }
            EventKind::StateInitialized { scope, .. } => {
                let version = self.cache.scope(self.connection, scope)?.map_or(0, |known| known.version);
                let change = Change { event: row, version, bytes, operations: None };
                self.add_change(scope, Some(request.n), &change)?;
                request.scopes.push(scope.clone());
            }
            EventKind::StateChanged { scope, version, .. } => {
                let change = Change { event: row, version: *version, bytes, operations: None };
                let n = self.add_change(scope, Some(request.n), &change)?;
                request.attempts.add_write(event.path.as_ref(), event.attempt, (n, row));
            }
            _ => {}
        }
        for commit in event.kind.commits() {
            let weigh = |seq: &Seq| request.operations.remove(seq).unwrap_or(DEFAULT_OPERATION_BYTES);
            let bytes = commit.operations.iter().map(weigh).sum();
            let operations = Some(states::write_operations(event.seq, &commit.operations));
            self.add_change(&commit.scope, None, &Change { event: row, version: commit.version, bytes, operations })?;
        }
        if matches!(event.kind, EventKind::CallbackReturned { .. })
            && request.attempts.has_written(event.path.as_ref(), event.attempt)
        {
            for scope in
                attempts::record_returned_writes(self.connection, request.n, attempts::returned_writes(&event.kind))?
            {
                self.cache.recompute_read_cost(self.connection, scope)?;
            }
        }
        let verdict = verdict(&event.kind);
        if let (Some(verdict), Some(path)) = (verdict, &event.path)
            && let Some(failed) = attempts::replaced(&(path.clone(), event.attempt), verdict)
        {
            let (connection, n) = (self.connection, request.n);
            request
                .attempts
                .look_up_failed(&failed, || open_attempts::writes_of_failed(connection, n, &failed, event.seq))?;
        }
        let rolled_back = request.attempts.apply_verdict(event.path.as_ref(), event.attempt, verdict);
        rolled_back.iter().try_for_each(|rolled_back| self.roll_back(rolled_back, row))
    }

    /// Adds a change to a scope, whose row is inserted if there is none. Returns the row's number.
    fn add_change(&mut self, scope: &ScopeKey, request: Option<i64>, change: &Change) -> Result<i64, Error> {
        let known = self.cache.scope_or_insert(self.connection, scope, request)?;
        self.payload_bytes += known.add_change(self.connection, change)? as i64;
        self.changed_scopes.insert(scope.clone());
        Ok(known.n)
    }

    /// Records a rolled-back attempt for each scope that it wrote to. `row` is the id of the event that rolled it back.
    fn roll_back(&mut self, rolled_back: &RolledBackAttempt, row: i64) -> Result<(), Error> {
        let (path, attempt) = &rolled_back.attempt;
        let path = self.cache.path_row(self.connection, path)?;
        for (scope, first) in &rolled_back.writes {
            self.connection
                .prepare_cached(
                    "INSERT INTO attempt_rollback (scope, event, path, attempt, first) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .run((scope, row, path, attempt, first))?;
            // A keyframe that contains the writes can no longer be used, so the read cost grows.
            let mut holds =
                self.connection.prepare_cached("SELECT 1 FROM keyframe WHERE scope = ?1 AND event >= ?2 LIMIT 1")?;
            if holds.exists((scope, first))? {
                self.cache.recompute_read_cost(self.connection, *scope)?;
            }
        }
        Ok(())
    }
}

/// Whether the event ends its request or suspends it: nothing is appended until it is resumed.
fn is_pause(kind: &EventKind) -> bool {
    match kind {
        EventKind::RequestFinished { .. } => true,
        EventKind::RequestStatus { status } => !matches!(status, RequestStatus::InProgress | RequestStatus::Queued),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
