//! Which operations of a request changed a place of a scope, each with the value before and after; and which one
//! changed each of several places last.
//!
//! One pass over the scope's changes during the request, applied by the engine. Writes that do not count are left out,
//! so that the values agree with the scope's state.

use std::collections::HashSet;
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{Event, EventKind, Seq};
use engine::operation::{Operation, equal};
use engine::scope::ScopeKey;
use engine::state::State;
use engine::views::place::Place;
use serde_json::Value;

use crate::Store;
use crate::read::events::{self, EVENTS, Interner};
use crate::read::states;
use crate::row::error::Error;

/// An operation that changed a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The `state_changed` event.
    pub event: Event,
    /// The `seq` of the event that made it effective: itself, or the commit that lists it.
    pub committed: Seq,
    /// The value before; `None` where there was none.
    pub old: Option<Value>,
    /// The value after.
    pub new: Option<Value>,
}

/// The operation that changed a place last.
#[derive(Clone, Debug, PartialEq)]
pub struct LastWrite {
    /// The `seq` of the `state_changed` event.
    pub seq: Seq,
    /// The path of the block.
    pub path: Option<Arc<str>>,
    /// The `seq` of the event that made it effective.
    pub committed: Seq,
}

impl Store {
    /// The operations of a request that changed a place of a scope, in the order they took effect, without those of
    /// rolled-back attempts. `live` says whether a process runs the request; if not, unfinished attempts count as
    /// rolled back.
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

    /// The other requests that changed a scope up to an event of a request, the last one first.
    pub fn writers_before(&self, scope: &ScopeKey, request: &str, seq: Seq, limit: u32) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let (Some(scope), Some(last)) =
                (states::find(connection, scope)?, states::event_id(connection, request, seq)?)
            else {
                return Ok(Vec::new());
            };
            let mut statement = connection.prepare_cached(
                "SELECT r.id FROM change c JOIN event e ON e.id = c.event JOIN request r ON r.n = e.request
                 WHERE c.scope = ?1 AND c.event <= ?2 AND r.id <> ?3
                 GROUP BY r.n ORDER BY max(c.event) DESC LIMIT ?4",
            )?;
            let rows = statement.query_map((scope, last, request, limit), |row| row.get(0))?;
            Ok(rows.collect::<Result<Vec<String>, _>>()?)
        })
    }

    /// For each of several places of a scope, which are known to differ between the events `from` and `to` of a
    /// request: the request's last write to it up to `to`. `None` if it has none, or another request wrote later.
    /// `live` says whether the request was running at `to`. The writes in `recommits` repeat earlier ones, which are
    /// returned instead.
    pub fn last_writers(
        &self,
        scope: &ScopeKey,
        request: &str,
        places: &[Place],
        (from, to, live): (Seq, Seq, bool),
        recommits: &HashSet<Seq>,
    ) -> Result<Vec<Option<LastWrite>>, Error> {
        let mut last = vec![None; places.len()];
        self.read(|connection| {
            if let Some(only) = only_writer(connection, scope, request, (from, to, live))?
                && !recommits.contains(&only.seq)
            {
                last.fill(Some(only));
                return Ok(());
            }
            self.walk(connection, scope, request, (to, live), |state, event, is_own, committed| {
                let is_recommit = recommits.contains(&event.seq);
                for at in changed(state, &event.kind, places) {
                    if is_own && is_recommit && last[at].is_some() {
                        continue;
                    }
                    let writer = || LastWrite { seq: event.seq, path: event.path.clone(), committed };
                    last[at] = is_own.then(writer);
                }
            })
        })?;
        Ok(last)
    }

    /// Calls `visit` for each operation that took effect on a scope during a request, up to the event `to`, without
    /// writes that are rolled back by then. Its arguments are the state before the operation, which it must apply the
    /// operation to, the operation's event, whether that belongs to the request, and the `seq` of the commit.
    fn walk(
        &self,
        connection: &Connection,
        scope: &ScopeKey,
        request: &str,
        (to, live): (Seq, bool),
        mut visit: impl FnMut(&mut State, Event, bool, Seq),
    ) -> Result<(), Error> {
        let (Some(scope), Some(last)) = (states::find(connection, scope)?, states::event_id(connection, request, to)?)
        else {
            return Ok(());
        };
        let (own, first): (i64, i64) = connection
            .prepare_cached(
                "SELECT request, id FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)
                 ORDER BY seq LIMIT 1",
            )?
            .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut gaps = states::standalone_keyframes(connection, scope, first, last)?;
        let imports = states::imported_ranges(connection, first, last)?;
        let unfinished = if live { Arc::default() } else { self.unfinished(connection, request, last)? };
        let rolled_back = states::rolled_back_attempts(connection, scope, last, &unfinished)?;
        let mut state = states::at(connection, scope, first - 1)?.state;
        let mut changes = connection.prepare_cached(
            "SELECT c.event, c.operations, e.request, e.seq, e.path, e.attempt, e.kind
             FROM change c JOIN event e ON e.id = c.event
             WHERE c.scope = ?1 AND c.event BETWEEN ?2 AND ?3 ORDER BY c.event",
        )?;
        let mut one = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
        let mut rows = changes.query((scope, first, last))?;
        let mut paths = Interner::default();
        while let Some(row) = rows.next()? {
            let (id, operations): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
            let (by, seq): (i64, i64) = (row.get(2)?, row.get(3)?);
            let (path, attempt): (Option<i64>, u32) = (row.get(4)?, row.get(5)?);
            if imports.iter().any(|(first, last)| (first..=last).contains(&&id)) && by != own {
                continue;
            }
            let is_write = operations.is_none() && row.get_ref(6)?.as_str()? == "state_changed";
            if is_write && path.and_then(|path| rolled_back.get(&(path, attempt))).is_some_and(|until| id < *until) {
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

/// The operation between the events `from` and `to`, if there is exactly one and it is the request's own. Then all
/// differences come from it, and no values have to be compared.
fn only_writer(
    connection: &Connection,
    scope: &ScopeKey,
    request: &str,
    (from, to, live): (Seq, Seq, bool),
) -> Result<Option<LastWrite>, Error> {
    let ids = (states::event_id(connection, request, from)?, states::event_id(connection, request, to)?);
    let (Some(scope), (Some(from), Some(to))) = (states::find(connection, scope)?, ids) else {
        return Ok(None);
    };
    if !states::discontinuities(connection, scope, from, to)?.is_empty() {
        return Ok(None);
    }
    let mut changes = connection.prepare_cached(
        "SELECT c.operations, e.request, e.seq FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.event <= ?3 LIMIT 2",
    )?;
    let mut rows = changes.query((scope, from, to))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (operations, by, committed): (Option<String>, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    // A write to shared memory, perhaps of an attempt that never ended.
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

/// Applies an operation. Returns the indexes of the places that it changed.
fn changed(state: &mut State, kind: &EventKind, places: &[Place]) -> Vec<usize> {
    let EventKind::StateChanged { operation, .. } = kind else {
        apply(state, kind, &Place::default());
        return Vec::new();
    };
    let is_one_field = matches!(
        operation,
        Operation::Update { .. }
            | Operation::Push { .. }
            | Operation::SetRecord { .. }
            | Operation::DeleteRecord { .. }
    );
    let concerned: Vec<(usize, PriorValue)> = {
        let touched = operation.touched(state);
        // A push changes only the place at the end of the list.
        let end = match operation {
            Operation::Push { field, .. } => state.list_len(field),
            _ => None,
        };
        // A write of a record's key changes only that one.
        let key = match operation {
            Operation::SetRecord { field, key, .. } | Operation::DeleteRecord { field, key } => {
                state.get(field).is_some_and(|record| record.is_object()).then_some(key.as_str())
            }
            _ => None,
        };
        let concerns = |place: &Place| match place.field() {
            None => true,
            Some(field) => {
                touched.contains(&field)
                    && (end.is_none() || place.index().is_none_or(|at| Some(at) == end))
                    && (key.is_none() || place.key().is_none_or(|other| Some(other) == key))
            }
        };
        let before = |place: &Place| match place.field().filter(|_| place.is_field()) {
            Some(_) if is_one_field => PriorValue::AsTheField,
            Some(field) => PriorValue::Field(state.get(field).cloned()),
            None => PriorValue::Value(place.find(state)),
        };
        let places = places.iter().enumerate().filter(|(_, place)| concerns(place));
        places.map(|(at, place)| (at, before(place))).collect()
    };
    let is_changed = operation.apply(state);
    let is_other = |place: &Place, before: &PriorValue| match before {
        PriorValue::AsTheField => is_changed,
        PriorValue::Field(old) => {
            let new = place.field().and_then(|field| state.get(field));
            differs(old.as_deref(), new.map(|new| &**new))
        }
        PriorValue::Value(old) => differs(old.as_ref(), place.find(state).as_ref()),
    };
    concerned.into_iter().filter(|(at, before)| is_other(&places[*at], before)).map(|(at, _)| at).collect()
}

/// What was at a place before an operation. Copying a value costs its size, so that is done only where nothing else
/// tells whether it changed.
enum PriorValue {
    /// The one field that the operation is about.
    AsTheField,
    Field(Option<Arc<Value>>),
    Value(Option<Value>),
}

fn differs(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => !equal(old, new),
        (old, new) => old.is_some() || new.is_some(),
    }
}

/// Applies an operation. Returns the values of the place before and after, if it changed. Initial values from a schema
/// do not count as a write.
fn apply(state: &mut State, kind: &EventKind, place: &Place) -> Option<(Option<Value>, Option<Value>)> {
    let operation = match kind {
        EventKind::StateChanged { operation, .. } => operation,
        EventKind::StateInitialized { state: Value::Object(fields), .. } => {
            state.fill_in(fields);
            return None;
        }
        _ => return None,
    };
    // Copying the place's value costs its size, so it is only done if the operation touches its field.
    if place.field().is_some_and(|field| !operation.touched(state).contains(&field)) {
        operation.apply(state);
        return None;
    }
    let old = place.find(state);
    operation.apply(state);
    let new = place.find(state);
    differs(old.as_ref(), new.as_ref()).then_some((old, new))
}
