//! The edits of a fork as rows of a history: they change what a state holds, and no block wrote that.
//!
//! An edit of shared memory is an event of its own. One of a durable record is part of the first state that the fork
//! gives its copy.

use engine::event::{Event, EventKind, ForkedFrom, Seq};
use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::views::place::Place;
use store::EventQuery;

use super::{Address, EDIT};
use crate::core::fault::Fault;
use crate::views::{Json, WriteRow};
use crate::workspace::Workspace;

/// An edit of a fork, with what a state held before and after it.
pub(in crate::workspace) struct StateEdit {
    /// The event that records it.
    pub(in crate::workspace) event: Event,
    /// The event with which it took effect.
    pub(in crate::workspace) committed: Seq,
    old: State,
    new: State,
}

impl StateEdit {
    /// Whether it changed a place.
    pub(in crate::workspace) fn changes(&self, place: &Place) -> bool {
        place.find(&self.old) != place.find(&self.new)
    }

    fn row(&self, place: &Place) -> Option<WriteRow> {
        let (old, new) = (place.find(&self.old), place.find(&self.new));
        (old != new).then(|| WriteRow {
            seq: self.event.seq,
            committed: self.committed,
            by: None,
            operation: EDIT.to_owned(),
            old: old.map(Json),
            new: new.map(Json),
            at: self.event.at,
        })
    }
}

impl Workspace {
    /// What a fork's edits changed at a place, and those of the forks that it comes from. Empty if the request is none.
    pub(super) fn edits_to(&self, request: &str, address: &Address) -> Result<Vec<WriteRow>, Fault> {
        let mut rows = Vec::new();
        let (mut request, mut until) = (request.to_owned(), Seq::MAX);
        while let Some(from) = self.origin_of(&request)? {
            if !address.kind.is_durable() && !self.keeps(&request, from.seq)? {
                break;
            }
            let edits = self.edits_of(&request, &from, address)?;
            let edits = edits.iter().filter_map(|edit| edit.row(&address.place));
            rows.extend(edits.filter(|row| row.seq <= until));
            (request, until) = (from.request_id, until.min(from.seq));
        }
        Ok(rows)
    }

    /// The edits that a fork began with, of the state that an address is in, oldest first.
    pub(in crate::workspace) fn edits_of(
        &self,
        fork: &str,
        from: &ForkedFrom,
        address: &Address,
    ) -> Result<Vec<StateEdit>, Fault> {
        let (parent, forked_at) = (from.request_id.as_str(), from.seq);
        if address.kind.is_durable() {
            return Ok(self.first_state(fork, parent, forked_at, address.kind)?.into_iter().collect());
        }
        self.edits_of_memory(fork, parent, forked_at, address)
    }

    /// Edits of the state of the request, or of a sequencer or block. They take effect with the state that the fork
    /// begins with when it goes on.
    fn edits_of_memory(
        &self,
        fork: &str,
        parent: &str,
        forked_at: Seq,
        address: &Address,
    ) -> Result<Vec<StateEdit>, Fault> {
        let mut edits = self.events_since(fork, forked_at, "state_edited")?;
        edits.retain(|event| match &event.kind {
            EventKind::StateEdited { of, .. } => address.is_of(of.as_deref()),
            _ => false,
        });
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        let Some(scope) = self.shared_scope(parent, forked_at, address)? else { return Ok(Vec::new()) };
        let mut state = (*self.record_at(&scope, parent, forked_at)?.state).clone();
        let begun = self.events_since(fork, forked_at, "state_initialized")?;
        let mut found = Vec::new();
        for edit in edits {
            let EventKind::StateEdited { of, operation } = &edit.kind else { continue };
            let old = state.clone();
            operation.apply(&mut state);
            let is_begin = |event: &&Event| {
                event.seq > edit.seq && event.path.as_deref() == of.as_deref() && has_kind(event, address.kind)
            };
            let committed = begun.iter().find(is_begin).map_or(edit.seq, |event| event.seq);
            found.push(StateEdit { event: edit, committed, old, new: state.clone() });
        }
        Ok(found)
    }

    /// Returns the first state of a fork's copy of a record, and the state that the other request had.
    fn first_state(
        &self,
        fork: &str,
        parent: &str,
        forked_at: Seq,
        kind: ScopeKind,
    ) -> Result<Option<StateEdit>, Fault> {
        let begun = self.events_since(fork, forked_at, "state_initialized")?;
        let is_first = |event: &Event| event.path.is_none() && has_kind(event, kind);
        let Some(first) = begun.into_iter().find(is_first) else { return Ok(None) };
        let EventKind::StateInitialized { scope, state, .. } = &first.kind else { return Ok(None) };
        let had = match self.counterpart(scope, fork, parent).and_then(|had| self.record_at(&had, parent, forked_at)) {
            Ok(had) => had,
            // A request that the other one was forked from may have been deleted.
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let (old, new) = ((*had.state).clone(), State::from(state.as_object().cloned().unwrap_or_default()));
        let commits = self.events_since(fork, first.seq, "committed")?;
        let committed = commits.first().map_or(first.seq, |event| event.seq);
        Ok(Some(StateEdit { event: first, committed, old, new }))
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
