//! Looking: everything the workspace answers without changing anything.

use std::collections::HashSet;

use engine::event::{Event, EventKind, RequestStatus};
use engine::identity::StateOwner;
use engine::log::Record;
use engine::resource::record::prefix;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::attempts::first_end;
use engine::views::blocks::blocks;
use engine::views::model_requests::{Requests, refers};
use serde_json::Value;
use store::{EventQuery, RequestQuery, Samples, SessionQuery};

use super::instances::is_of_block;
use super::records::put_record;
use super::{At, Workspace};
use crate::core::fault::Fault;
use crate::views::*;

impl Workspace {
    /// Sessions, in the order that is asked for.
    pub fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRow>, Fault> {
        Ok(self.session_rows(query)?.into_iter().map(|(_, row)| row).collect())
    }

    /// How many sessions of samples fit a query, where its list leaves them out.
    pub fn sessions_left_out(&self, query: &SessionQuery) -> Result<u64, Fault> {
        if query.samples != Samples::LeftOut {
            return Ok(0);
        }
        let samples = SessionQuery { samples: Samples::Only, limit: None, offset: None, ..query.clone() };
        if query.status.is_some_and(is_computed) {
            return Ok(self.session_rows(samples)?.len() as u64);
        }
        self.store.count_sessions(&samples).map_err(Fault::internal)
    }

    /// Sessions as the store has them, each with its row.
    pub(super) fn session_rows(&self, query: SessionQuery) -> Result<Vec<(store::SessionRow, SessionRow)>, Fault> {
        let with_row = |stored: store::SessionRow| (stored.clone(), self.session_row(stored));
        let Some(wanted) = query.status.filter(|status| is_computed(*status)) else {
            let rows = self.store.sessions(&query).map_err(Fault::internal)?;
            return Ok(rows.into_iter().map(with_row).collect());
        };
        let (limit, offset) = (query.limit, query.offset);
        let all = SessionQuery { limit: None, offset: None, ..query };
        let rows = self.store.sessions(&all).map_err(Fault::internal)?;
        let rows = rows.into_iter().map(with_row).filter(|(_, row)| row.last_status == wanted);
        Ok(page(rows, limit, offset))
    }

    /// Requests, newest first.
    pub fn requests(&self, query: RequestQuery) -> Result<Vec<RequestRow>, Fault> {
        if let Some(session) = &query.session {
            self.session(session)?;
        }
        let Some(wanted) = query.status.filter(|status| is_computed(*status)) else {
            let rows = self.store.requests(&query).map_err(Fault::internal)?;
            return Ok(rows.into_iter().map(|row| self.request_row(row)).collect());
        };
        let (limit, offset) = (query.limit, query.offset);
        let all = RequestQuery { limit: None, offset: None, ..query };
        let rows = self.store.requests(&all).map_err(Fault::internal)?;
        let rows = rows.into_iter().map(|row| self.request_row(row)).filter(|row| row.status == wanted);
        Ok(page(rows, limit, offset))
    }

    /// One request's row.
    pub fn request(&self, request: &str) -> Result<RequestRow, Fault> {
        let row = self.store.request(request).map_err(Fault::internal)?;
        row.map(|row| self.request_row(row)).ok_or_else(|| Fault::not_found(format!("unknown request \"{request}\"")))
    }

    pub(super) fn session(&self, session: &str) -> Result<SessionRow, Fault> {
        let row = self.store.session(session).map_err(Fault::internal)?;
        row.map(|row| self.session_row(row)).ok_or_else(|| Fault::not_found(format!("unknown session \"{session}\"")))
    }

    /// A request whole: its row, its input and output, every block with payloads.
    pub fn show(&self, request: &str) -> Result<Shown, Fault> {
        let (mut row, events) = self.log_of(request)?;
        row.totals = Some(self.totals_and_kept(&row)?);
        let view = Events::new(&events);
        let blocks = blocks(view, !row.status.is_terminal());
        let output = events.last().and_then(|event| match &event.kind {
            EventKind::RequestFinished { output: Some(output), .. } => view.value(output),
            _ => None,
        });
        Ok(Shown {
            input: json(view.input()),
            output: json(output),
            blocks: blocks
                .iter()
                .map(|block| ShownBlock {
                    row: BlockRow::new(&row.id, block),
                    input: json(block.input),
                    output: json(block.output),
                })
                .collect(),
            request: row,
        })
    }

    /// Raw events of a request, oldest first; writes to durable records as they came into force.
    pub fn events(&self, request: &str, query: EventQuery) -> Result<Vec<EventRow>, Fault> {
        self.request(request)?;
        if let Some(path) = &query.path {
            let any = EventQuery { path: Some(path.clone()), limit: Some(1), ..EventQuery::default() };
            if self.store.events(request, &any).map_err(Fault::internal)?.is_empty() {
                let text = format!("request \"{request}\" has no block at \"{path}\"; `show` lists its blocks");
                return Err(Fault::not_found(text));
            }
        }
        let mut events = self.store.events(request, &query).map_err(Fault::internal)?;
        self.store.put_in_force(request, &mut events).map_err(Fault::internal)?;
        let Some(last) = events.iter().rev().find(|event| refers(event)).map(|event| event.seq) else {
            return Ok(events.iter().map(|event| EventRow::new(request, event)).collect());
        };
        // What these refer to may stand outside the part that was asked for.
        let query = EventQuery { to: Some(last), kind: Some("effect_started".to_owned()), ..EventQuery::default() };
        let calls = Requests::of(&self.store.events(request, &query).map_err(Fault::internal)?);
        let row = |event: &Event| EventRow::new(request, calls.resolve(event).as_ref().unwrap_or(event));
        Ok(events.iter().map(row).collect())
    }

    /// Every scope's state at an instant of a request; its newest instant when `at` is absent.
    pub fn state_at(&self, request: &str, at: Option<&At>) -> Result<StateView, Fault> {
        let seq = self.seq_at(request, at)?;
        // Up to where a fork leaves its request, its state is that one's.
        let forked_from = self.request(request)?.forked_from;
        if let Some(from) = forked_from.as_ref().filter(|from| seq <= from.seq) {
            let mut view = self.state_at(&from.request_id, Some(&At::Seq(seq)))?;
            name_blocks(&mut view, request);
            return Ok(view);
        }
        let query = EventQuery { from: Some(seq), to: Some(seq), ..EventQuery::default() };
        let at = self.store.events(request, &query).map_err(Fault::internal)?.first().map(|event| event.at);
        // A request always has its scope, written or not.
        let empty = Some(Json(Value::Object(serde_json::Map::new())));
        let mut view = StateView { seq: Some(seq), at, request: empty, ..StateView::default() };
        view.versions.insert(ScopeKind::Request.as_str().to_owned(), 0);
        let scopes = self.scopes_of(request)?;
        let superseded = self.superseded_at(&scopes, request, seq)?;
        for scope in scopes.iter().filter(|scope| !superseded.contains(scope)) {
            let record = self.record_at(scope, request, seq)?;
            // A later attempt has nothing yet.
            let is_empty = record.version == 0 && record.state.is_empty();
            if is_of_block(scope) && is_empty && !self.had_begun(scope, request, seq)? {
                continue;
            }
            put_record(&mut view, scope, record);
        }
        let blocks = if forked_from.is_some() { self.blocks_at(request, seq)? } else { Vec::new() };
        // Those that it does not go on with.
        let own: HashSet<&ScopeKey> = scopes.iter().collect();
        for (_, stood) in blocks.into_iter().filter(|(_, stood)| !own.contains(&stood.scope)) {
            let record = self.record_at(&stood.scope, &stood.request, stood.seq)?;
            put_record(&mut view, &self.counterpart(&stood.scope, &stood.request, request)?, record);
        }
        self.add_agent(&mut view, request, seq)?;
        Ok(view)
    }

    /// The newest state of a session, a user or a project, and of its resources.
    pub fn record_state(&self, scope: ScopeKey) -> Result<StateView, Fault> {
        if !self.store.exists(&scope).map_err(Fault::internal)? {
            return Err(Fault::not_found(format!("unknown {} \"{}\"", scope.kind.as_str(), scope.id)));
        }
        if scope.kind == ScopeKind::User {
            self.check_user_has_state(&scope)?;
        }
        self.records_of(scope)
    }

    /// The newest state of a record and of its resources, empty where nothing was written.
    pub(super) fn records_of(&self, scope: ScopeKey) -> Result<StateView, Fault> {
        let record = engine::log::Log::record(&*self.store, &scope).map_err(Fault::internal)?;
        let mut view = StateView::default();
        put_record(&mut view, &scope, record);
        for resource in self.store.resources_of(&scope).map_err(Fault::internal)? {
            let record = engine::log::Log::record(&*self.store, &resource).map_err(Fault::internal)?;
            put_record(&mut view, &resource, record);
        }
        Ok(view)
    }

    /// A scope's state at an instant of a request. In the part that a fork has in common with another request, it is
    /// that one's; from the fork's first own event on it is the state where the fork left, with the fork's edits.
    pub(super) fn record_at(&self, scope: &ScopeKey, request: &str, seq: u64) -> Result<Record, Fault> {
        let (request, scope, seq) = self.original(request, scope.clone(), seq)?;
        let row = self.request(&request)?;
        match self.carried_state(&scope, &row, seq)? {
            Some(record) => Ok(record),
            None => self.recorded_state(&scope, &row, seq),
        }
    }

    /// A scope's state as of an event, as the request's own log has it.
    pub(super) fn recorded_state(&self, scope: &ScopeKey, row: &RequestRow, seq: u64) -> Result<Record, Fault> {
        let found = if is_at_rest(row, seq) {
            self.store.state_at_rest(scope, &row.id, seq)
        } else {
            self.store.state_at(scope, &row.id, seq)
        };
        found.map_err(Fault::internal)
    }

    /// Where an instant of a scope was recorded.
    pub(super) fn original(&self, request: &str, scope: ScopeKey, seq: u64) -> Result<(String, ScopeKey, u64), Fault> {
        let mut found = (request.to_owned(), scope);
        while let Some(from) = self.request(&found.0)?.forked_from.filter(|from| seq <= from.seq) {
            let scope = self.counterpart(&found.1, &found.0, &from.request_id)?;
            found = (from.request_id, scope);
        }
        Ok((found.0, found.1, seq))
    }

    /// The scope of another request that stands where this one stands in its own: its session for the
    /// session, its user for the user, and so on.
    pub(super) fn counterpart(&self, scope: &ScopeKey, request: &str, other: &str) -> Result<ScopeKey, Fault> {
        if request == other {
            return Ok(scope.clone());
        }
        if scope.kind == ScopeKind::Request {
            return Ok(ScopeKey::new(scope.kind, other));
        }
        if is_of_block(scope) {
            // A fork goes on with the executions that it shares with the other one.
            let own = StateOwner::parse(&scope.id).filter(|owner| owner.request == request);
            let their = own.map(|owner| StateOwner { request: other, ..owner }.to_string());
            return Ok(their.map_or_else(|| scope.clone(), |id| ScopeKey::new(scope.kind, id)));
        }
        let owners = |request: &str| self.store.owners_of(request).map_err(Fault::internal);
        let (ours, theirs) = (owners(request)?, owners(other)?);
        for own in &ours {
            let Some(their) = theirs.iter().find(|their| their.key.kind == own.key.kind) else { continue };
            if own.state == *scope {
                return Ok(their.state.clone());
            }
            if scope.kind == ScopeKind::Resource
                && let Some(rest) = scope.id.strip_prefix(&prefix(&own.key)).filter(|rest| rest.starts_with(['/', ':']))
            {
                return Ok(ScopeKey::new(scope.kind, format!("{}{rest}", prefix(&their.key))));
            }
        }
        Ok(scope.clone())
    }

    /// The scope of a request that an event of its log means by a scope: events that a fork keeps name those of the
    /// request that recorded them. `None` if that request has been deleted.
    pub(super) fn own_scope(&self, scope: &ScopeKey, request: &str, seq: u64) -> Result<Option<ScopeKey>, Fault> {
        let mut recorded = request.to_owned();
        while let Some(from) = self.request(&recorded)?.forked_from.filter(|from| seq <= from.seq) {
            if self.store.request(&from.request_id).map_err(Fault::internal)?.is_none() {
                return Ok(None);
            }
            recorded = from.request_id;
        }
        self.counterpart(scope, &recorded, request).map(Some)
    }

    /// Sizes and counts of the database.
    pub fn stats(&self) -> Result<Stats, Fault> {
        let stats = self.store.stats().map_err(Fault::internal)?;
        Ok(Stats {
            bytes: self.bytes_on_disk(|| stats.bytes),
            events: stats.events,
            items: stats.items,
            sessions: stats.sessions,
            requests: stats.requests,
            samples: stats.samples,
            payload_bytes: stats.payload_bytes,
            unique_payload_bytes: stats.unique_payload_bytes,
        })
    }

    pub(super) fn log_of(&self, request: &str) -> Result<(RequestRow, Vec<Event>), Fault> {
        loop {
            let found = self.store.log_of(request).map_err(Fault::internal)?;
            let (row, events) = found.ok_or_else(|| Fault::not_found(format!("unknown request \"{request}\"")))?;
            let seq = row.last_seq;
            let row = self.request_row(row);
            // Where its job has ended meanwhile, the row is newer than the events.
            if row.last_seq == seq {
                return Ok((row, events));
            }
        }
    }

    /// The scopes of a request. A fork has a state of its own before it records one.
    pub(super) fn scopes_of(&self, request: &str) -> Result<Vec<ScopeKey>, Fault> {
        let mut scopes = self.store.scopes_of(request).map_err(Fault::internal)?;
        if scopes.iter().all(|scope| scope.kind != ScopeKind::Request) && self.request(request)?.forked_from.is_some() {
            scopes.insert(0, ScopeKey::new(ScopeKind::Request, request));
        }
        Ok(scopes)
    }

    pub(super) fn seq_at(&self, request: &str, at: Option<&At>) -> Result<u64, Fault> {
        let last = self.request(request)?.last_seq;
        match at {
            None => Ok(last),
            Some(At::Seq(seq)) if *seq <= last => Ok(*seq),
            Some(At::Seq(seq)) => Err(Fault::not_found(format!("request \"{request}\" has {last} events, not {seq}"))),
            Some(At::Path(path)) => {
                let ends = |kind: &str| {
                    let (kind, path) = (Some(kind.to_owned()), Some(path.to_string()));
                    let query = EventQuery { kind, path, ..EventQuery::default() };
                    self.store.events(request, &query).map_err(Fault::internal)
                };
                if let Some(end) = first_end(&ends("block_finished")?, path) {
                    return Ok(end);
                }
                // A call of a hook has a path, too.
                ends("hook_returned")?.last().map(|event| event.seq).ok_or_else(|| {
                    Fault::not_found(format!("no block finished at path \"{path}\" in request \"{request}\""))
                })
            }
        }
    }
}

/// Whether an instant is the newest of a request whose process died: what had not ended then is without
/// effect, though no event says so yet.
pub(super) fn is_at_rest(row: &RequestRow, seq: u64) -> bool {
    row.status == RequestStatus::Interrupted && seq >= row.last_seq
}

/// Names the blocks of a state as those of a fork that shares them.
fn name_blocks(view: &mut StateView, fork: &str) {
    for (id, state) in std::mem::take(&mut view.sequencers) {
        let owner = StateOwner::parse(&id).map(|owner| StateOwner { request: fork, ..owner }.to_string());
        let name = owner.unwrap_or_else(|| id.clone());
        let version = view.versions.remove(&id);
        view.versions.extend(version.map(|version| (name.clone(), version)));
        view.sequencers.insert(name, state);
    }
}

/// Whether a status depends on which processes live: the database alone cannot tell (ARCHITECTURE §7.1).
fn is_computed(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::Queued | RequestStatus::InProgress | RequestStatus::Interrupted)
}

fn page<T>(rows: impl Iterator<Item = T>, limit: Option<u64>, offset: Option<u64>) -> Vec<T> {
    let bound = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    rows.skip(bound(offset.unwrap_or(0))).take(limit.map_or(usize::MAX, bound)).collect()
}

fn json(value: Option<&Value>) -> Option<Json> {
    value.cloned().map(Json)
}
