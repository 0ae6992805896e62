//! The edits of a fork as rows of a history: they change what a state holds, and no block wrote that.
//!
//! An edit of shared memory is an event of its own. One of a durable record is part of the first state that the fork
//! gives its copy.

use engine::event::{Event, EventKind, Seq};
use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use store::EventQuery;

use super::{Address, EDIT};
use crate::core::fault::Fault;
use crate::views::{Json, WriteRow};
use crate::workspace::Workspace;

impl Workspace {
    /// What a fork's edits changed at a place, and those of the forks that it comes from. Empty if the request is none.
    pub(super) fn edits_to(&self, request: &str, address: &Address) -> Result<Vec<WriteRow>, Fault> {
        let mut rows = Vec::new();
        let (mut request, mut until) = (request.to_owned(), Seq::MAX);
        while let Some(from) = self.request(&request)?.forked_from {
            if address.kind.is_durable() {
                rows.extend(self.first_states(&request, &from.request_id, from.seq, address)?);
                break;
            }
            if !self.keeps(&request, from.seq)? {
                break;
            }
            let edits = self.edits_of_memory(&request, &from.request_id, from.seq, address)?;
            rows.extend(edits.into_iter().filter(|row| row.seq <= until));
            (request, until) = (from.request_id, until.min(from.seq));
        }
        Ok(rows)
    }

    /// Edits of the state of the request, or of a sequencer or block. They take effect with the state that the fork
    /// begins with when it goes on.
    fn edits_of_memory(
        &self,
        fork: &str,
        parent: &str,
        forked_at: Seq,
        address: &Address,
    ) -> Result<Vec<WriteRow>, Fault> {
        let edits = self.events_since(fork, forked_at, "state_edited")?;
        let is_meant = |event: &&Event| match &event.kind {
            EventKind::StateEdited { of, .. } => address.is_of(of.as_deref()),
            _ => false,
        };
        let mut edits = edits.iter().filter(is_meant).peekable();
        if edits.peek().is_none() {
            return Ok(Vec::new());
        }
        let Some(scope) = self.shared_scope(parent, forked_at, address)? else { return Ok(Vec::new()) };
        let mut state = (*self.record_at(&scope, parent, forked_at)?.state).clone();
        let begun = self.events_since(fork, forked_at, "state_initialized")?;
        let mut rows = Vec::new();
        for edit in edits {
            let EventKind::StateEdited { of, operation } = &edit.kind else { continue };
            let old = address.place.find(&state);
            operation.apply(&mut state);
            let new = address.place.find(&state);
            let is_begin = |event: &&Event| {
                event.seq > edit.seq && event.path.as_deref() == of.as_deref() && has_kind(event, address.kind)
            };
            let committed = begun.iter().find(is_begin).map_or(edit.seq, |event| event.seq);
            rows.extend(row(edit, committed, old, new));
        }
        Ok(rows)
    }

    /// The edits of a durable record: in what its first state in the fork differs from what the other request had.
    fn first_states(
        &self,
        fork: &str,
        parent: &str,
        forked_at: Seq,
        address: &Address,
    ) -> Result<Vec<WriteRow>, Fault> {
        let begun = self.events_since(fork, forked_at, "state_initialized")?;
        let is_first = |event: &&Event| event.path.is_none() && has_kind(event, address.kind);
        let Some(first) = begun.iter().find(is_first) else { return Ok(Vec::new()) };
        let EventKind::StateInitialized { scope, state, .. } = &first.kind else { return Ok(Vec::new()) };
        let had = match self.counterpart(scope, fork, parent).and_then(|had| self.record_at(&had, parent, forked_at)) {
            Ok(had) => had,
            // The other request may have been deleted.
            Err(Fault::NotFound { .. }) => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        };
        let state = State::from(state.as_object().cloned().unwrap_or_default());
        let (old, new) = (address.place.find(&had.state), address.place.find(&state));
        let commits = self.events_since(fork, first.seq, "committed")?;
        let committed = commits.first().map_or(first.seq, |event| event.seq);
        Ok(row(first, committed, old, new).into_iter().collect())
    }

    /// The state of the other request that a fork's edits change: of several executions of a block the newest counts.
    fn shared_scope(&self, parent: &str, forked_at: Seq, address: &Address) -> Result<Option<ScopeKey>, Fault> {
        let mut newest = None;
        for scope in self.scopes_of(parent)?.into_iter().filter(|scope| address.names(scope)) {
            if !self.had_begun(&scope, parent, forked_at)? {
                continue;
            }
            let attempt = StateOwner::parse(&scope.id).map_or(0, |owner| owner.instance.attempt);
            if newest.as_ref().is_none_or(|(last, _)| *last <= attempt) {
                newest = Some((attempt, scope));
            }
        }
        Ok(newest.map(|(_, scope)| scope))
    }

    fn events_since(&self, request: &str, seq: Seq, kind: &str) -> Result<Vec<Event>, Fault> {
        let query = EventQuery { from: Some(seq + 1), kind: Some(kind.to_owned()), ..EventQuery::default() };
        self.store.events(request, &query).map_err(Fault::internal)
    }
}

impl Address {
    /// Whether it is in the state of the block at a path, or of the request itself.
    fn is_of(&self, path: Option<&str>) -> bool {
        match (&self.block, path) {
            (None, None) => self.kind == ScopeKind::Request,
            (Some(block), Some(path)) => {
                block == path || StateOwner::parse(block).is_some_and(|owner| owner.instance.path == path)
            }
            _ => false,
        }
    }
}

fn has_kind(event: &Event, kind: ScopeKind) -> bool {
    matches!(&event.kind, EventKind::StateInitialized { scope, .. } if scope.kind == kind)
}

fn row(
    event: &Event,
    committed: Seq,
    old: Option<serde_json::Value>,
    new: Option<serde_json::Value>,
) -> Option<WriteRow> {
    (old != new).then(|| WriteRow {
        seq: event.seq,
        committed,
        by: None,
        operation: EDIT.to_owned(),
        old: old.map(Json),
        new: new.map(Json),
        at: event.at,
    })
}
