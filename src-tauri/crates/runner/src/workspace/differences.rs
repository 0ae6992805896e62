//! Differences of states between two instants of one or two requests, with the blocks that wrote them.

use std::collections::{HashMap, HashSet};

use engine::event::{ForkedFrom, Seq};
use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::diff;
use engine::views::place::Place;
use indexmap::IndexMap;
use serde_json::Value;
use store::EventQuery;

use super::instances::{BlockPlace, ScopeAt, is_of_block};
use super::queries::is_at_rest;
use super::records::{instance_of, shown};
use super::{At, Workspace};
use crate::catalogue::STACK;
use crate::core::fault::Fault;
use crate::views::Change;

/// The visible state of a scope, if it exists.
type Shown = Option<Value>;
/// A scope at the earlier and at the later instant, if it existed.
type AtBoth = (Option<ScopeAt>, Option<ScopeAt>);

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
            // Two requests are compared at their ends, one request from its start.
            (None, Some(_)) => self.seq_at(request, None)?,
            (None, None) => self.before_first_block(request)?,
        };
        let to = self.seq_at(other, to)?;
        if with.is_some() {
            return self.diff_of_two((request, from), (other, to));
        }
        let mut changes = Vec::new();
        let scopes = self.scopes_of(request)?;
        let sides = self.two_instants(&scopes, request, (from, to))?;
        let mut recalled = HashMap::new();
        let kept = self.kept_blocks(&scopes, request, (from, to))?;
        for (scope, (old, new)) in scopes.into_iter().zip(sides) {
            let mut found = changes_of(&scope, old, new);
            self.name_writers(scope, request, (from.min(to), from.max(to)), &mut found, &mut recalled)?;
            changes.extend(found);
        }
        for (old, new) in kept {
            let Some(latest) = [&old, &new].into_iter().flatten().max_by_key(|stood| stood.seq).cloned() else {
                continue;
            };
            let (old, new) = (self.shown_at(&old)?.or_else(nothing), self.shown_at(&new)?.or_else(nothing));
            let named = self.counterpart(&latest.scope, &latest.request, request)?;
            let mut found = changes_of(&named, old, new);
            let span = (from.min(to), latest.seq);
            self.name_writers(latest.scope, &latest.request, span, &mut found, &mut recalled)?;
            changes.extend(found);
        }
        Ok(changes)
    }

    /// The states of blocks that a fork has from its original request, at two instants: blocks that had ended by then,
    /// or that the fork does not continue. `own` are the scopes of the fork.
    fn kept_blocks(&self, own: &[ScopeKey], request: &str, (from, to): (u64, u64)) -> Result<Vec<AtBoth>, Fault> {
        if self.request(request)?.forked_from.is_none() {
            return Ok(Vec::new());
        }
        let place = |scope: &ScopeKey| Some((scope.kind, StateOwner::parse(&scope.id)?.instance.path.to_owned()));
        let own: HashSet<BlockPlace> = own.iter().filter(|scope| is_of_block(scope)).filter_map(place).collect();
        let mut places: IndexMap<BlockPlace, AtBoth> = IndexMap::new();
        for (place, stood) in self.blocks_at(request, from)? {
            places.entry(place).or_default().0 = Some(stood);
        }
        for (place, stood) in self.blocks_at(request, to)? {
            places.entry(place).or_default().1 = Some(stood);
        }
        Ok(places.into_iter().filter(|(place, _)| !own.contains(place)).map(|(_, stood)| stood).collect())
    }

    fn shown_at(&self, stood: &Option<ScopeAt>) -> Result<Shown, Fault> {
        let Some(ScopeAt { request, scope, seq }) = stood else { return Ok(None) };
        Ok(shown(scope, self.record_at(scope, request, *seq)?))
    }

    /// The differences of one scope between two instants of a request.
    pub(super) fn scope_diff(&self, scope: &ScopeKey, request: &str, from: u64, to: u64) -> Result<Vec<Change>, Fault> {
        let (old, new) = (self.record_at(scope, request, from)?, self.record_at(scope, request, to)?);
        Ok(changes_of(scope, shown(scope, old), shown(scope, new)))
    }

    /// The differences between an instant of one request and an instant of another. Records are matched by their owner,
    /// states of blocks by path: ids of instances name the request, and never match.
    fn diff_of_two(&self, (left, from): (&str, u64), (right, to): (&str, u64)) -> Result<Vec<Change>, Fault> {
        let mut pairs = Vec::new();
        for scope in self.records_beside(left, right)? {
            let theirs = self.counterpart(&scope, left, right)?;
            pairs.push((Some(ScopeAt::new(left, scope, from)), Some(ScopeAt::new(right, theirs, to))));
        }
        let (ours, theirs) = (self.blocks_at(left, from)?, self.blocks_at(right, to)?);
        let mut others: HashMap<_, ScopeAt> = theirs.iter().map(|(place, stood)| (place, stood.clone())).collect();
        for (place, stood) in &ours {
            pairs.push((Some(stood.clone()), others.remove(place)));
        }
        for (place, stood) in &theirs {
            if others.contains_key(place) {
                pairs.push((None, Some(stood.clone())));
            }
        }
        pairs.sort_by_key(|(left, right)| left.as_ref().or(right.as_ref()).map(|stood| stood.scope.kind));
        let (olds, news) = side_by_side(
            || pairs.iter().map(|(left, _)| self.shown_at(left)).collect::<Result<Vec<_>, Fault>>(),
            || pairs.iter().map(|(_, right)| self.shown_at(right)).collect::<Result<Vec<_>, Fault>>(),
        )?;
        let mut changes = Vec::new();
        for ((pair, old), new) in pairs.into_iter().zip(olds).zip(news) {
            if let Some(stood) = pair.0.or(pair.1) {
                changes.extend(changes_of(&stood.scope, old, new));
            }
        }
        Ok(changes)
    }

    /// The records of two requests, under the keys of the left one: its own state, and each shared record that either
    /// of them has.
    fn records_beside(&self, left: &str, right: &str) -> Result<Vec<ScopeKey>, Fault> {
        let shared = |request: &str| {
            let scopes = self.scopes_of(request)?;
            Ok::<_, Fault>(scopes.into_iter().filter(|scope| scope.kind.is_durable()).collect::<Vec<_>>())
        };
        let mut scopes = vec![ScopeKey::new(ScopeKind::Request, left)];
        scopes.extend(shared(left)?);
        let known: HashSet<ScopeKey> = scopes.iter().cloned().collect();
        for theirs in shared(right)? {
            let ours = self.counterpart(&theirs, right, left)?;
            if !known.contains(&ours) {
                scopes.push(ours);
            }
        }
        Ok(scopes)
    }

    /// Scopes at two instants of a request.
    fn two_instants(
        &self,
        scopes: &[ScopeKey],
        request: &str,
        (from, to): (u64, u64),
    ) -> Result<Vec<(Shown, Shown)>, Fault> {
        let read = |seq: u64| {
            let superseded = self.superseded_at(scopes, request, seq)?;
            let value = |scope: &ScopeKey| -> Result<Shown, Fault> {
                if superseded.contains(scope) {
                    return Ok(nothing());
                }
                Ok(shown(scope, self.record_at(scope, request, seq)?))
            };
            scopes.iter().map(value).collect::<Result<Vec<_>, Fault>>()
        };
        let (olds, news) = side_by_side(|| read(from), || read(to))?;
        Ok(olds.into_iter().zip(news).collect())
    }

    /// The instant when all scopes have their initial state and no block has begun.
    fn before_first_block(&self, request: &str) -> Result<u64, Fault> {
        let query = EventQuery { kind: Some("block_started".to_owned()), limit: Some(1), ..EventQuery::default() };
        let first = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(first.first().map_or(1, |event| event.seq - 1))
    }

    /// Names the last writer of each changed place of a scope between two instants, like `history`. A fork begins with
    /// its edits; the writers before them are read from the original request. `recalled` caches, for all scopes, the
    /// writes that resumes of a request only re-applied.
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
        while changes.iter().any(|change| change.seq.is_none()) && from < to {
            (request, scope, to) = self.original(&request, scope, to)?;
            let span = (from, to, !is_at_rest(&self.request(&request)?, to));
            if !recalled.contains_key(&request) {
                recalled.insert(request.clone(), self.recalled(&request)?);
            }
            let again = &recalled[&request];
            let last = self.store.last_writers(&scope, &request, &places, span, again).map_err(Fault::internal)?;
            for (change, writer) in changes.iter_mut().zip(last).filter(|(change, _)| change.seq.is_none()) {
                let Some(writer) = writer.filter(|writer| writer.committed > from) else { continue };
                change.seq = Some(writer.seq);
                change.by = writer.path.as_ref().map(ToString::to_string);
            }
            let Some(before) = self.origin_of(&request)? else { break };
            self.name_edits(&scope, (&request, &before), (from, to), &places, changes)?;
            scope = self.counterpart(&scope, &request, &before.request_id)?;
            (request, to) = (before.request_id, before.seq);
        }
        Ok(())
    }

    /// Names the edits of a fork as the writers of changed places that no block has written since.
    fn name_edits(
        &self,
        scope: &ScopeKey,
        (fork, before): (&str, &ForkedFrom),
        (from, to): (u64, u64),
        places: &[Place],
        changes: &mut [Change],
    ) -> Result<(), Fault> {
        if to <= before.seq || changes.iter().all(|change| change.seq.is_some()) {
            return Ok(());
        }
        let edits = self.edits_at_beginning(scope, fork, before)?;
        for edit in edits.iter().rev().filter(|edit| from < edit.committed && edit.committed <= to) {
            for (change, place) in changes.iter_mut().zip(places) {
                if change.seq.is_none() && edit.changes(place) {
                    change.seq = Some(edit.event.seq);
                    change.is_edit = true;
                }
            }
        }
        Ok(())
    }
}

/// The visible state of an instance that has not begun, or that a later one has replaced.
fn nothing() -> Shown {
    Some(Value::Object(serde_json::Map::new()))
}

/// Reads two instants concurrently, because reading is most of the cost.
fn side_by_side<T: Send>(
    left: impl FnOnce() -> Result<T, Fault> + Send,
    right: impl FnOnce() -> Result<T, Fault>,
) -> Result<(T, T), Fault> {
    std::thread::scope(|side| {
        let left = std::thread::Builder::new().stack_size(STACK).spawn_scoped(side, left)?;
        let right = right();
        let left = left.join().map_err(|_| Fault::internal("an instant could not be read"))??;
        Ok((left, right?))
    })
}

fn changes_of(scope: &ScopeKey, old: Shown, new: Shown) -> Vec<Change> {
    let found = diff::diff(old.as_ref(), new.as_ref()).into_iter();
    found.map(|difference| Change::new(scope.kind.as_str(), instance_of(scope), difference)).collect()
}
