//! What differs between two instants, of one request or of two, and who wrote it.

use std::collections::{HashMap, HashSet};

use engine::event::Seq;
use engine::scope::ScopeKey;
use engine::views::diff;
use engine::views::place::Place;
use serde_json::Value;
use store::EventQuery;

use super::records::{instance_of, shown};
use super::{At, Workspace};
use crate::catalogue::STACK;
use crate::core::fault::Fault;
use crate::views::Change;

/// What is seen of a scope, if it is there.
type Shown = Option<Value>;

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
        let sides = self.two_instants(&scopes, (request, from), (other, to))?;
        let mut recalled = HashMap::new();
        for (scope, (old, new)) in scopes.into_iter().zip(sides) {
            let mut found = changes_of(&scope, old, new);
            if with.is_none() {
                self.name_writers(scope, request, (from.min(to), from.max(to)), &mut found, &mut recalled)?;
            }
            changes.extend(found);
        }
        Ok(changes)
    }

    /// The differences of one scope between two instants of a request.
    pub(super) fn scope_diff(&self, scope: &ScopeKey, request: &str, from: u64, to: u64) -> Result<Vec<Change>, Fault> {
        let (old, new) = (self.record_at(scope, request, from)?, self.record_at(scope, request, to)?);
        Ok(changes_of(scope, shown(scope, old), shown(scope, new)))
    }

    /// What scopes held at two instants, read side by side: reading is most of what a difference costs.
    fn two_instants(
        &self,
        scopes: &[ScopeKey],
        (request, from): (&str, u64),
        (other, to): (&str, u64),
    ) -> Result<Vec<(Shown, Shown)>, Fault> {
        let before = self.superseded_at(scopes, request, from)?;
        let after = if request == other { self.superseded_at(scopes, other, to)? } else { HashSet::new() };
        let old = |scope: &ScopeKey| {
            if before.contains(scope) { Ok(nothing()) } else { Ok(shown(scope, self.record_at(scope, request, from)?)) }
        };
        let new = |scope: &ScopeKey| {
            if after.contains(scope) {
                return Ok(nothing());
            }
            let theirs = self.counterpart(scope, request, other)?;
            Ok(shown(scope, self.record_at(&theirs, other, to)?))
        };
        std::thread::scope(|side| {
            let reading = std::thread::Builder::new().stack_size(STACK);
            let olds = reading.spawn_scoped(side, || scopes.iter().map(old).collect::<Result<Vec<_>, Fault>>())?;
            let news = scopes.iter().map(new).collect::<Result<Vec<_>, Fault>>();
            let olds = olds.join().map_err(|_| Fault::internal("an instant could not be read"))??;
            Ok(olds.into_iter().zip(news?).collect())
        })
    }

    /// The instant when all scopes have their initial state and no block has begun.
    fn before_first_block(&self, request: &str) -> Result<u64, Fault> {
        let query = EventQuery { kind: Some("block_started".to_owned()), limit: Some(1), ..EventQuery::default() };
        let first = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(first.first().map_or(1, |event| event.seq - 1))
    }

    /// Who wrote each changed place of a scope last between two instants, as `history` tells it. A fork
    /// has what was before it in common with another request, which knows who wrote that.
    /// `recalled` keeps, for all scopes, what resumes of a request only put in force again.
    fn name_writers(
        &self,
        scope: ScopeKey,
        request: &str,
        (from, to): (u64, u64),
        changes: &mut [Change],
        recalled: &mut HashMap<String, HashSet<Seq>>,
    ) -> Result<(), Fault> {
        let places: Vec<Place> = changes
            .iter()
            .map(|change| Place::parse(&change.path))
            .collect::<Result<_, _>>()
            .map_err(Fault::internal)?;
        let (mut request, mut scope, mut to) = (request.to_owned(), scope, to);
        while changes.iter().any(|change| change.by.is_none()) && from < to {
            (request, scope, to) = self.original(&request, scope, to)?;
            let span = (from, to, !self.is_at_rest(&request, to)?);
            if !recalled.contains_key(&request) {
                recalled.insert(request.clone(), self.recalled(&request)?);
            }
            let again = &recalled[&request];
            let last = self.store.last_writers(&scope, &request, &places, span, again).map_err(Fault::internal)?;
            for (change, writer) in changes.iter_mut().zip(last).filter(|(change, _)| change.by.is_none()) {
                let Some(writer) = writer.filter(|writer| writer.committed > from) else { continue };
                change.seq = Some(writer.seq);
                change.by = writer.path.as_ref().map(ToString::to_string);
            }
            let Some(before) = self.request(&request)?.forked_from else { break };
            scope = self.counterpart(&scope, &request, &before.request_id)?;
            (request, to) = (before.request_id, before.seq);
        }
        Ok(())
    }
}

/// What is seen of an instance that a later one has taken the place of.
fn nothing() -> Shown {
    Some(Value::Object(serde_json::Map::new()))
}

fn changes_of(scope: &ScopeKey, old: Shown, new: Shown) -> Vec<Change> {
    let found = diff::diff(old.as_ref(), new.as_ref()).into_iter();
    found.map(|difference| Change::new(scope.kind.as_str(), instance_of(scope), difference)).collect()
}
