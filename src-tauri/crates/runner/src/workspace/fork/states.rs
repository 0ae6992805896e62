//! The states with which a fork begins: those of its original request, with its edits.
//!
//! The fork records them in several events: its records with its first commit, the state of the request when it
//! continues, the state of a block when that block continues. A reader at an event in between gets all of them.

use engine::event::{Event, EventKind, ForkedFrom, Seq};
use engine::log::Record;
use engine::scope::{ScopeKey, ScopeKind};

use crate::core::fault::Fault;
use crate::views::RequestRow;
use crate::workspace::Workspace;
use crate::workspace::instances::is_of_block;
use crate::workspace::writers::{Address, StateEdit};

/// Where the initial state of a fork's scope is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Begins {
    /// In a later event of the fork.
    With(Seq),
    /// In the log of the original request, without the edits.
    Before(ForkedFrom),
}

impl Workspace {
    /// The state with which a scope of a fork begins, if the fork records it after this event. `seq` is an event of the
    /// fork's own.
    pub(in crate::workspace) fn carried_state(
        &self,
        scope: &ScopeKey,
        fork: &RequestRow,
        seq: Seq,
    ) -> Result<Option<Record>, Fault> {
        let from = match self.begins_later(scope, fork, seq)? {
            None => return Ok(None),
            Some(Begins::With(seq)) => return self.recorded_state(scope, fork, seq).map(Some),
            Some(Begins::Before(from)) => from,
        };
        let had = self.counterpart(scope, &fork.id, &from.request_id)?;
        let mut record = self.record_at(&had, &from.request_id, from.seq)?;
        if let Some(edit) = self.edits_at_beginning(scope, &fork.id, &from)?.pop() {
            record.state = edit.new.into();
        }
        Ok(Some(record))
    }

    /// The event of a fork that records the state with which a scope begins; `None` if no event does.
    pub(in crate::workspace) fn recorded_with(
        &self,
        scope: &ScopeKey,
        fork: &RequestRow,
        from: &ForkedFrom,
    ) -> Result<Option<Seq>, Fault> {
        Ok(match self.begins_later(scope, fork, from.first_own())? {
            Some(Begins::With(seq)) => Some(seq),
            _ => None,
        })
    }

    /// The edits that a scope of a fork begins with, oldest first.
    pub(in crate::workspace) fn edits_at_beginning(
        &self,
        scope: &ScopeKey,
        fork: &str,
        from: &ForkedFrom,
    ) -> Result<Vec<StateEdit>, Fault> {
        // Resources cannot be edited.
        if scope.kind == ScopeKind::Resource {
            return Ok(Vec::new());
        }
        let address = Address::of(scope);
        let edits = self.edits_of(fork, from, &address)?;
        // An edit applies to only one of several executions of a block.
        let is_other = || {
            let had = self.counterpart(scope, fork, &from.request_id)?;
            Ok::<bool, Fault>(self.edited_scope(from, &address)? != Some(had))
        };
        if !edits.is_empty() && is_of_block(scope) && is_other()? {
            return Ok(Vec::new());
        }
        Ok(edits)
    }

    /// Whether a scope of a fork exists from the fork's first own event on, but is recorded after this event.
    pub(in crate::workspace) fn is_carried(&self, scope: &ScopeKey, request: &str, seq: Seq) -> Result<bool, Fault> {
        Ok(self.begins_later(scope, &self.request(request)?, seq)?.is_some())
    }

    fn begins_later(&self, scope: &ScopeKey, fork: &RequestRow, seq: Seq) -> Result<Option<Begins>, Fault> {
        let Some(from) = &fork.forked_from else { return Ok(None) };
        let first = self.store.first_change(scope, &fork.id).map_err(Fault::internal)?;
        // The original request may have been deleted.
        if first.is_some_and(|first| first <= seq)
            || self.store.request(&from.request_id).map_err(Fault::internal)?.is_none()
        {
            return Ok(None);
        }
        if scope.kind.is_durable() {
            let records = self.first_commit(&fork.id, from)?;
            return Ok(first.filter(|first| Some(*first) == records).map(Begins::With));
        }
        let had = self.counterpart(scope, &fork.id, &from.request_id)?;
        // An edit may be the first write to the state of a request.
        let is_edited = || match scope.kind {
            ScopeKind::Request => Ok::<bool, Fault>(!self.edits_at_beginning(scope, &fork.id, from)?.is_empty()),
            _ => Ok(false),
        };
        if !self.had_begun(&had, &from.request_id, from.seq)? && !is_edited()? {
            return Ok(None);
        }
        // In older versions, a fork recorded the states that it shares with its original request again.
        if !self.keeps(&fork.id, from.seq)? {
            return Ok(None);
        }
        let recorded = first.map(|first| self.store.event_at(&fork.id, first)).transpose().map_err(Fault::internal)?;
        Ok(Some(match recorded.flatten() {
            Some(Event { seq, kind: EventKind::StateInitialized { .. }, .. }) => Begins::With(seq),
            _ => Begins::Before(from.clone()),
        }))
    }

    /// The event with which a fork commits its initial records. `None` if it has none.
    pub(in crate::workspace) fn first_commit(&self, fork: &str, from: &ForkedFrom) -> Result<Option<Seq>, Fault> {
        let first = self.store.event_at(fork, from.first_own()).map_err(Fault::internal)?;
        match first.map(|first| (first.path, first.kind)) {
            Some((None, EventKind::StateInitialized { scope, .. })) if scope.kind.is_durable() => {
                self.store.first_change(&scope, fork).map_err(Fault::internal)
            }
            _ => Ok(None),
        }
    }
}
