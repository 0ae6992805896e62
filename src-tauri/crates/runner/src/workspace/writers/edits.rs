//! The edits of a fork as rows of a history: they change what a state holds, and no block wrote that.
//!
//! An edit of shared memory is an event of its own. One of a durable record is part of the first state that the fork
//! gives its copy.

use std::collections::HashSet;

use engine::event::{Event, EventKind, ForkedFrom, Seq};
use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::views::fork_edits::ForkEdit;
use engine::views::place::Place;
use store::EventQuery;

use super::Address;
use crate::core::fault::Fault;
use crate::views::{Json, WriteRow};
use crate::workspace::Workspace;

/// An edit of a fork, with what a state held before and after it.
pub(in crate::workspace) struct StateEdit {
    /// The event that records it.
    pub(in crate::workspace) event: Event,
    /// The event as of which it holds: the fork's first own one.
    pub(in crate::workspace) committed: Seq,
    pub(in crate::workspace) old: State,
    /// With this edit and those before it.
    pub(in crate::workspace) new: State,
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
            instance: None,
            operation: WriteRow::EDIT.to_owned(),
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
        if address.kind.is_durable() {
            return Ok(self.edit_of_record(fork, from, address.kind)?.into_iter().collect());
        }
        let mut edits = self.state_edits(fork, from)?;
        edits.retain(|event| matches!(ForkEdit::of(event), Some(ForkEdit::State { of, .. }) if address.is_of(of)));
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        let Some(scope) = self.edited_scope(from, address)? else { return Ok(Vec::new()) };
        let mut state = (*self.record_at(&scope, &from.request_id, from.seq)?.state).clone();
        let mut found = Vec::new();
        for event in edits {
            let Some(ForkEdit::State { operation, .. }) = ForkEdit::of(&event) else { continue };
            let old = state.clone();
            operation.apply(&mut state);
            found.push(StateEdit { event, committed: from.first_own(), old, new: state.clone() });
        }
        Ok(found)
    }

    /// What a fork's edits made of a record: the first state of the fork's copy, and the state that was copied.
    fn edit_of_record(&self, fork: &str, from: &ForkedFrom, kind: ScopeKind) -> Result<Option<StateEdit>, Fault> {
        // Any other first state is that of a schema.
        let Some(commit) = self.first_commit(fork, from)? else { return Ok(None) };
        let begun = self.events_between(fork, (from.first_own(), commit), "state_initialized")?;
        let is_first = |event: &Event| event.path.is_none() && has_kind(event, kind);
        let Some(first) = begun.into_iter().find(is_first) else { return Ok(None) };
        let EventKind::StateInitialized { scope, state, .. } = &first.kind else { return Ok(None) };
        let parent = from.request_id.as_str();
        let had = match self.counterpart(scope, fork, parent).and_then(|had| self.record_at(&had, parent, from.seq)) {
            Ok(had) => had,
            // A request that the other one was forked from may have been deleted.
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let (old, new) = ((*had.state).clone(), State::from(state.as_object().cloned().unwrap_or_default()));
        Ok(Some(StateEdit { event: first, committed: from.first_own(), old, new }))
    }

    /// The state of the other request that a fork's edits change: of several executions of a block the newest counts.
    pub(in crate::workspace) fn edited_scope(
        &self,
        from: &ForkedFrom,
        address: &Address,
    ) -> Result<Option<ScopeKey>, Fault> {
        let parent = from.request_id.as_str();
        if address.kind == ScopeKind::Request {
            // It is there before anybody writes to it.
            return Ok(Some(ScopeKey::new(ScopeKind::Request, parent)));
        }
        let mut newest = None;
        for scope in self.scopes_of(parent)?.into_iter().filter(|scope| address.names(scope)) {
            if !self.had_begun(&scope, parent, from.seq)? {
                continue;
            }
            let attempt = StateOwner::parse(&scope.id).map_or(0, |owner| owner.instance.attempt);
            if newest.as_ref().is_none_or(|(last, _)| *last <= attempt) {
                newest = Some((attempt, scope));
            }
        }
        Ok(newest.map(|(_, scope)| scope))
    }

    /// The paths of blocks whose states a fork edits.
    pub(in crate::workspace) fn edited_blocks(&self, fork: &str, from: &ForkedFrom) -> Result<HashSet<String>, Fault> {
        let edits = self.state_edits(fork, from)?;
        let block = |event| match ForkEdit::of(event)? {
            ForkEdit::State { of, .. } => of.map(str::to_owned),
            _ => None,
        };
        Ok(edits.iter().filter_map(block).collect())
    }

    /// The events with which a fork edits shared memory: they precede the event with which it goes on.
    fn state_edits(&self, fork: &str, from: &ForkedFrom) -> Result<Vec<Event>, Fault> {
        let kind = Some("request_resumed".to_owned());
        let query = EventQuery { from: Some(from.first_own()), kind, limit: Some(1), ..EventQuery::default() };
        let resumed = self.store.events(fork, &query).map_err(Fault::internal)?;
        let until = resumed.first().map_or(Seq::MAX, |event| event.seq);
        self.events_between(fork, (from.first_own(), until), "state_edited")
    }

    fn events_between(&self, request: &str, (from, to): (Seq, Seq), kind: &str) -> Result<Vec<Event>, Fault> {
        let kind = Some(kind.to_owned());
        let query = EventQuery { from: Some(from), to: Some(to), kind, ..EventQuery::default() };
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
