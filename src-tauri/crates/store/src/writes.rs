//! Who wrote one place of a scope: a request's operations on it, each with the value before and after.
//!
//! One walk over the scope's steps during the request, by the engine's own rule, so that the values are
//! those that [`Store::state_at`] tells.

use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::operation::equal;
use engine::scope::ScopeKey;
use engine::state::State;
use engine::transaction::fill;
use engine::views::place::Place;
use rusqlite::Connection;
use serde_json::Value;

use crate::error::Error;
use crate::events::{self, EVENTS, Paths};
use crate::{Store, states};

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

impl Store {
    /// The operations of a request that changed a place of a scope, in the order they came into force.
    pub fn writes(&self, scope: &ScopeKey, request: &str, place: &Place) -> Result<Vec<Write>, Error> {
        self.read(|connection| match states::find(connection, scope)? {
            Some(scope) => walk(connection, scope, request, place),
            None => Ok(Vec::new()),
        })
    }
}

fn walk(connection: &Connection, scope: i64, request: &str, place: &Place) -> Result<Vec<Write>, Error> {
    let (own, first, last): (i64, i64, i64) = connection
        .prepare_cached(
            "SELECT request, min(id), max(id) FROM event WHERE request = (SELECT n FROM request WHERE id = ?1)
             HAVING count(*) > 0",
        )?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut jumps = states::jumps(connection, scope, first, last)?;
    let mut state = states::at(connection, scope, first - 1)?.state;
    let mut steps = connection.prepare_cached(
        "SELECT c.event, c.operations, e.request, e.seq FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event BETWEEN ?2 AND ?3 ORDER BY c.event",
    )?;
    let mut one = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
    let mut rows = steps.query((scope, first, last))?;
    let mut paths = Paths::default();
    let mut writes = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, operations): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
        let (by, seq): (i64, i64) = (row.get(2)?, row.get(3)?);
        let later = jumps.split_off(&id);
        if !std::mem::replace(&mut jumps, later).is_empty() {
            state = states::at(connection, scope, id - 1)?.state;
        }
        for back in states::read_operations(operations.as_deref().unwrap_or("0")) {
            let mut found = one.query((by, seq - back?))?;
            let row = found.next()?.ok_or_else(|| Error::Damaged("a commit names no event".to_owned()))?;
            let event = events::event(connection, row, &mut paths)?;
            if let Some((old, new)) = apply(Arc::make_mut(&mut state), &event.kind, place)
                && by == own
            {
                writes.push(Write { event, committed: seq.unsigned_abs(), old, new });
            }
        }
    }
    Ok(writes)
}

/// Applies an operation. Answers the values of the place if it changed them. First values from a schema
/// are nobody's writes.
fn apply(state: &mut State, kind: &EventKind, place: &Place) -> Option<(Option<Value>, Option<Value>)> {
    let operation = match kind {
        EventKind::StateChanged { operation, .. } => operation,
        EventKind::StateInitialized { state: Value::Object(fields), .. } => {
            fill(state, fields);
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
    let is_same = match (&old, &new) {
        (Some(old), Some(new)) => equal(old, new),
        (old, new) => old.is_none() && new.is_none(),
    };
    (!is_same).then_some((old, new))
}
