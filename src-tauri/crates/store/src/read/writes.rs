//! Who wrote one place of a scope: a request's operations on it, each with the value before and after.
//!
//! And who wrote several places last. One walk over the scope's steps during the request, by the engine's own
//! rule: the values are those of what counts, so that what is told of a write stays true.

use std::collections::HashSet;
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::operation::{Operation, equal};
use engine::scope::ScopeKey;
use engine::state::State;
use engine::views::place::Place;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::Store;
use crate::read::events::{self, EVENTS, Paths};
use crate::read::states;
use crate::row::error::Error;

/// An operation that changed a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The `state_changed` event.
    pub event: Event,
    /// The event that put it in force: itself, or the commit that names it.
    pub committed: Seq,
    /// The value before; `None` where there was none.
    pub old: Option<Value>,
    /// The value after.
    pub new: Option<Value>,
}

/// Who changed a place last.
#[derive(Clone, Debug, PartialEq)]
pub struct LastWrite {
    /// The `state_changed` event.
    pub seq: Seq,
    /// The block.
    pub path: Option<Arc<str>>,
    /// The event that put it in force.
    pub committed: Seq,
}

impl Store {
    /// The operations of a request that changed a place of a scope, in the order they came into force; those of
    /// attempts without effect are left out. `live` says whether the request's process still runs it.
    pub fn writes(&self, scope: &ScopeKey, request: &str, place: &Place, live: bool) -> Result<Vec<Write>, Error> {
        let mut writes = Vec::new();
        self.read(|connection| {
            self.walk(connection, scope, request, (Seq::MAX, live), |state, event, is_own, committed| {
                if let Some((old, new)) = apply(state, &event.kind, place)
                    && is_own
                {
                    writes.push(Write { event, committed, old, new });
                }
            })
        })?;
        Ok(writes)
    }

    /// For each of several places of a scope that differ between two instants of a request: who of it wrote
    /// there last, up to the second; `None` where nobody of it did, or somebody else after. `live` says whether
    /// the request was running at the second. The events of `again` put in force what was written before.
    pub fn last_writers(
        &self,
        scope: &ScopeKey,
        request: &str,
        places: &[Place],
        (from, to, live): (Seq, Seq, bool),
        again: &HashSet<Seq>,
    ) -> Result<Vec<Option<LastWrite>>, Error> {
        let mut last = vec![None; places.len()];
        self.read(|connection| {
            if let Some(only) = only_writer(connection, scope, request, (from, to, live))?
                && !again.contains(&only.seq)
            {
                last.fill(Some(only));
                return Ok(());
            }
            self.walk(connection, scope, request, (to, live), |state, event, is_own, committed| {
                let is_again = again.contains(&event.seq);
                for at in changed(state, &event.kind, places) {
                    if is_own && is_again && last[at].is_some() {
                        continue;
                    }
                    let writer = || LastWrite { seq: event.seq, path: event.path.clone(), committed };
                    last[at] = is_own.then(writer);
                }
            })
        })?;
        Ok(last)
    }

    /// Goes through the operations that came into force on a scope during a request, up to an instant of it:
    /// with the state before each, whether it is the request's own, and the event that put it in force. The
    /// visitor applies them. What attempts wrote that are without effect by then is passed over.
    fn walk(
        &self,
        connection: &Connection,
        scope: &ScopeKey,
        request: &str,
        (to, live): (Seq, bool),
        mut visit: impl FnMut(&mut State, Event, bool, Seq),
    ) -> Result<(), Error> {
        let (Some(scope), Some(last)) = (states::find(connection, scope)?, states::instant(connection, request, to)?)
        else {
            return Ok(());
        };
        let (own, first): (i64, i64) = connection
            .prepare_cached("SELECT request, min(id) FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)")?
            .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut gaps = states::gaps(connection, scope, first, last)?;
        let imports = states::imports(connection, first, last)?;
        let unfinished = if live { Arc::default() } else { self.unfinished(connection, request, last)? };
        let gone = states::without_effect(connection, scope, last, &unfinished)?;
        let mut state = states::at(connection, scope, first - 1)?.state;
        let mut steps = connection.prepare_cached(
            "SELECT c.event, c.operations, e.request, e.seq, e.path, e.attempt, e.kind
             FROM change c JOIN event e ON e.id = c.event
             WHERE c.scope = ?1 AND c.event BETWEEN ?2 AND ?3 ORDER BY c.event",
        )?;
        let mut one = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
        let mut rows = steps.query((scope, first, last))?;
        let mut paths = Paths::default();
        while let Some(row) = rows.next()? {
            let (id, operations): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
            let (by, seq): (i64, i64) = (row.get(2)?, row.get(3)?);
            let (path, attempt): (Option<i64>, u32) = (row.get(4)?, row.get(5)?);
            if imports.iter().any(|(first, last)| (first..=last).contains(&&id)) && by != own {
                continue;
            }
            let is_write = operations.is_none() && row.get_ref(6)?.as_str()? == "state_changed";
            if is_write && path.is_some_and(|path| gone.contains(&(path, attempt))) {
                continue;
            }
            let later = gaps.split_off(&id);
            if !std::mem::replace(&mut gaps, later).is_empty() {
                state = states::at(connection, scope, id - 1)?.state;
            }
            for back in states::read_operations(operations.as_deref().unwrap_or("0")) {
                let mut found = one.query((by, seq - back?))?;
                let row = found.next()?.ok_or_else(|| Error::Damaged("a commit names no event".to_owned()))?;
                let event = events::event(connection, row, &mut paths)?;
                visit(Arc::make_mut(&mut state), event, by == own, seq.unsigned_abs());
            }
        }
        Ok(())
    }
}

/// The one operation between two instants, if there is just one and it is the request's own: whatever
/// differs, it made so, and no value has to be looked at.
fn only_writer(
    connection: &Connection,
    scope: &ScopeKey,
    request: &str,
    (from, to, live): (Seq, Seq, bool),
) -> Result<Option<LastWrite>, Error> {
    let instants = (states::instant(connection, request, from)?, states::instant(connection, request, to)?);
    let (Some(scope), (Some(from), Some(to))) = (states::find(connection, scope)?, instants) else {
        return Ok(None);
    };
    if !states::jumps(connection, scope, from, to)?.is_empty() {
        return Ok(None);
    }
    let mut steps = connection.prepare_cached(
        "SELECT c.operations, e.request, e.seq FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.event <= ?3 LIMIT 2",
    )?;
    let mut rows = steps.query((scope, from, to))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (operations, by, committed): (Option<String>, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    // It may be that of an attempt that never ended.
    if operations.is_none() && !live {
        return Ok(None);
    }
    let back = states::read_operations(operations.as_deref().unwrap_or("0")).collect::<Result<Vec<i64>, _>>()?;
    let (&[back], None) = (back.as_slice(), rows.next()?) else { return Ok(None) };
    let writer: Option<(i64, Option<Arc<str>>)> = connection
        .prepare_cached(
            "SELECT e.seq, p.text FROM event e JOIN request r ON r.n = e.request LEFT JOIN path p ON p.n = e.path
             WHERE e.request = ?1 AND e.seq = ?2 AND e.kind = 'state_changed' AND r.id = ?3",
        )?
        .query_row((by, committed - back, request), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(writer.map(|(seq, path)| LastWrite { seq: seq.unsigned_abs(), path, committed: committed.unsigned_abs() }))
}

/// Applies an operation. Answers which of the places it changed.
fn changed(state: &mut State, kind: &EventKind, places: &[Place]) -> Vec<usize> {
    let EventKind::StateChanged { operation, .. } = kind else {
        apply(state, kind, &Place::default());
        return Vec::new();
    };
    let concerned: Vec<(usize, Option<Value>)> = {
        let touched = operation.touched(state);
        // What is put at the end of a list leaves the places before it alone.
        let end = match operation {
            Operation::Push { field, .. } => state.get(field).and_then(|list| list.as_array()).map(Vec::len),
            _ => None,
        };
        let concerns = |place: &Place| match place.field() {
            None => true,
            Some(field) => {
                touched.contains(&field) && (end.is_none() || place.index().is_none_or(|at| Some(at) == end))
            }
        };
        let places = places.iter().enumerate().filter(|(_, place)| concerns(place));
        places.map(|(at, place)| (at, place.find(state))).collect()
    };
    operation.apply(state);
    concerned.into_iter().filter(|(at, old)| differs(old, &places[*at].find(state))).map(|(at, _)| at).collect()
}

fn differs(old: &Option<Value>, new: &Option<Value>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => !equal(old, new),
        (old, new) => old.is_some() || new.is_some(),
    }
}

/// Applies an operation. Answers the values of the place if it changed them. First values from a schema
/// are nobody's writes.
fn apply(state: &mut State, kind: &EventKind, place: &Place) -> Option<(Option<Value>, Option<Value>)> {
    let operation = match kind {
        EventKind::StateChanged { operation, .. } => operation,
        EventKind::StateInitialized { state: Value::Object(fields), .. } => {
            state.fill_in(fields);
            return None;
        }
        _ => return None,
    };
    // What a place weighs is only paid where it may have changed.
    if place.field().is_some_and(|field| !operation.touched(state).contains(&field)) {
        operation.apply(state);
        return None;
    }
    let old = place.find(state);
    operation.apply(state);
    let new = place.find(state);
    differs(&old, &new).then_some((old, new))
}
