//! How the state of scopes changed in the course of a request: every step, in order, so that the state at any of its
//! events can be made from them.
//!
//! One pass over the changes of each scope. Must agree with [`states::at`] at every event: where a state does not
//! follow from its changes (an attempt was rolled back, an import, a tombstone) it is read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{EventKind, Seq};
use engine::operation::Operation;
use engine::scope::ScopeKey;
use engine::state::State;
use serde_json::Value;

use crate::Store;
use crate::read::events::{self, EVENTS, Interner};
use crate::read::states;
use crate::row::error::Error;

/// One step of a scope's state.
#[derive(Debug)]
pub struct StateStep<'s> {
    /// The event of the request as of which the state is so; 0 for the state before its first event.
    pub seq: Seq,
    /// The version after it.
    pub version: u64,
    /// The state after it.
    pub state: &'s State,
    /// What was done to the state; `None` if it was read again, or has initial values filled in.
    pub operation: Option<&'s Operation>,
    /// The event of the operation, if the request wrote it.
    pub write: Option<Seq>,
    /// Whether a change led to it. A scope has begun with its first change.
    pub is_change: bool,
}

impl Store {
    /// Calls `visit` for each step of each scope in the course of a request, scope by scope, oldest first. The first
    /// step of a scope is its state before the request's first event.
    pub fn state_steps(
        &self,
        request: &str,
        scopes: &[ScopeKey],
        mut visit: impl FnMut(usize, StateStep<'_>),
    ) -> Result<(), Error> {
        self.read(|connection| {
            let log = OwnEvents::read(connection, request)?;
            for (index, scope) in scopes.iter().enumerate() {
                if let Some(scope) = states::find(connection, scope)? {
                    walk(connection, scope, &log, |step| visit(index, step))?;
                }
            }
            Ok(())
        })
    }
}

/// The events of a request, by the global ids that changes name them with.
struct OwnEvents {
    request: i64,
    ids: Vec<(i64, Seq)>,
}

impl OwnEvents {
    fn read(connection: &Connection, request: &str) -> Result<Self, Error> {
        let mut statement = connection.prepare_cached(
            "SELECT request, id, seq FROM event WHERE request = (SELECT n FROM request WHERE id = ?1) ORDER BY seq",
        )?;
        let mut rows = statement.query((request,))?;
        let mut log = OwnEvents { request: 0, ids: Vec::new() };
        while let Some(row) = rows.next()? {
            log.request = row.get(0)?;
            log.ids.push((row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs()));
        }
        Ok(log)
    }

    /// The first event of the request that sees what is committed with an id.
    fn first_that_sees(&self, id: i64) -> Option<Seq> {
        self.ids.get(self.ids.partition_point(|(own, _)| *own < id)).map(|(_, seq)| *seq)
    }
}

fn walk(
    connection: &Connection,
    scope: i64,
    log: &OwnEvents,
    mut visit: impl FnMut(StateStep<'_>),
) -> Result<(), Error> {
    let (Some((first, _)), Some((last, _))) = (log.ids.first().copied(), log.ids.last().copied()) else {
        return Ok(());
    };
    let mut breaks = states::discontinuities(connection, scope, first, last)?;
    let mut record = states::at(connection, scope, first - 1)?;
    let (version, state) = (record.version, &*record.state);
    visit(StateStep { seq: 0, version, state, operation: None, write: None, is_change: version > 0 });
    let mut one = connection.prepare_cached(&format!("{EVENTS} WHERE e.request = ?1 AND e.seq = ?2"))?;
    let mut changes = connection.prepare_cached(
        "SELECT c.event, c.operations, c.version, e.request, e.seq FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event BETWEEN ?2 AND ?3 ORDER BY c.event",
    )?;
    let mut rows = changes.query((scope, first, last))?;
    let mut paths = Interner::default();
    // What is at or before this id is in the state already.
    let mut read_until = first - 1;
    while let Some(row) = rows.next()? {
        let (id, operations): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
        let (version, by, seq): (u64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        for at in take_until(&mut breaks, id) {
            read_until = at;
            record = states::at(connection, scope, at)?;
            if let Some(seq) = log.first_that_sees(at) {
                let (version, state) = (record.version, &*record.state);
                visit(StateStep { seq, version, state, operation: None, write: None, is_change: true });
            }
        }
        let Some(seen) = log.first_that_sees(id).filter(|_| id > read_until) else { continue };
        record.version = version;
        for back in states::read_operations(operations.as_deref().unwrap_or("0")) {
            let mut found = one.query((by, seq - back?))?;
            let row = found.next()?.ok_or_else(|| Error::Damaged("a commit names no event".to_owned()))?;
            let event = events::event(connection, row, &mut paths)?;
            let state = Arc::make_mut(&mut record.state);
            let operation = match &event.kind {
                EventKind::StateChanged { operation, .. } => {
                    operation.apply(state);
                    Some(operation)
                }
                EventKind::StateInitialized { state: Value::Object(fields), .. } => {
                    state.fill_in(fields);
                    None
                }
                _ => continue,
            };
            let write = (by == log.request && operation.is_some()).then_some(event.seq);
            visit(StateStep { seq: seen, version, state, operation, write, is_change: true });
        }
    }
    for at in take_until(&mut breaks, last) {
        let record = states::at(connection, scope, at)?;
        if let Some(seq) = log.first_that_sees(at) {
            let (version, state) = (record.version, &*record.state);
            visit(StateStep { seq, version, state, operation: None, write: None, is_change: true });
        }
    }
    Ok(())
}

/// Takes those out that are at or before an id.
fn take_until(breaks: &mut BTreeSet<i64>, id: i64) -> BTreeSet<i64> {
    let later = breaks.split_off(&(id + 1));
    std::mem::replace(breaks, later)
}
