//! What differs between two instants, of one request or of two, and who wrote it.

use engine::event::EventKind;
use engine::scope::ScopeKey;
use engine::views::diff;
use store::EventQuery;

use super::records::{instance_of, shown};
use super::{At, Workspace};
use crate::fault::Fault;
use crate::views::Change;

impl Workspace {
    /// The differences of every scope between two instants, of one request or of two.
    pub fn diff(
        &self,
        request: &str,
        from: Option<&At>,
        to: Option<&At>,
        with: Option<&str>,
    ) -> Result<Vec<Change>, Fault> {
        let other = with.unwrap_or(request);
        let from = match (from, with) {
            (Some(at), _) => self.seq_at(request, Some(at))?,
            // Two requests are compared at their ends; one request from its beginning.
            (None, Some(_)) => self.seq_at(request, None)?,
            (None, None) => self.before_first_block(request)?,
        };
        let to = self.seq_at(other, to)?;
        let mut changes = Vec::new();
        let mut scopes = self.scopes_of(request)?;
        if with.is_some() {
            scopes.retain(|scope| scope.kind.is_durable());
        }
        for scope in scopes {
            changes.extend(self.scope_diff(&scope, request, from, other, to)?);
        }
        if with.is_none() {
            self.name_writers(request, from, to, &mut changes)?;
        }
        Ok(changes)
    }

    pub(super) fn scope_diff(
        &self,
        scope: &ScopeKey,
        request: &str,
        from: u64,
        other: &str,
        to: u64,
    ) -> Result<Vec<Change>, Fault> {
        let old = self.record_at(scope, request, from)?;
        let new = self.record_at(&self.counterpart(scope, request, other)?, other, to)?;
        let (old, new) = (shown(scope, &old), shown(scope, &new));
        Ok(diff::diff(old.as_ref(), new.as_ref())
            .into_iter()
            .map(|difference| Change::new(scope.kind.as_str(), instance_of(scope), difference))
            .collect())
    }

    /// The instant when all scopes have their initial state and no block has begun.
    fn before_first_block(&self, request: &str) -> Result<u64, Fault> {
        let query = EventQuery { kind: Some("block_started".to_owned()), limit: Some(1), ..EventQuery::default() };
        let first = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(first.first().map_or(1, |event| event.seq - 1))
    }

    /// Who wrote each changed path last: the newest operation that touches its top-level field.
    fn name_writers(&self, request: &str, from: u64, to: u64, changes: &mut [Change]) -> Result<(), Fault> {
        if changes.is_empty() {
            return Ok(());
        }
        let events = self
            .store
            .events(request, &EventQuery { to: Some(to), ..EventQuery::default() })
            .map_err(Fault::internal)?;
        // A durable write that no commit names never came into force.
        let in_force: std::collections::HashSet<u64> = events
            .iter()
            .flat_map(|event| event.kind.commits())
            .flat_map(|commit| commit.operations.iter().copied())
            .collect();
        let empty = engine::state::State::default();
        for change in changes {
            let field = change.path.split(['.', '[']).next().unwrap_or_default();
            let writer = events.iter().rev().find(|event| match &event.kind {
                EventKind::StateChanged { scope, operation, .. } => {
                    let same = scope.kind.as_str() == change.scope
                        && (change.instance_id.is_none() || change.instance_id == instance_of(scope));
                    let counts = !scope.kind.is_durable() || in_force.contains(&event.seq);
                    same && counts
                        && (change.path.is_empty()
                            || operation.touched(&empty).contains(&field)
                            || matches!(operation, engine::operation::Operation::Set { .. }))
                }
                _ => false,
            });
            if let Some(event) = writer.filter(|event| event.seq > from || change.seq.is_none()) {
                change.seq = Some(event.seq);
                change.by = event.path.as_ref().map(ToString::to_string);
            }
        }
        Ok(())
    }
}
