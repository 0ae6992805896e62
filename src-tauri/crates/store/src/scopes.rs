//! State: the steps of each scope, and any instant of it.
//!
//! A state is the nearest keyframe before the instant and the operations since, applied by the
//! engine's own rule. One function folds for every reader, so views cannot disagree.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::event::{Event, EventKind};
use engine::log::Record;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::transaction::fill;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::body::{self, Weight};
use crate::error::Error;
use crate::lock;

/// A keyframe is not worth its row before the deltas weigh this much.
const LEAST_KEYFRAME: usize = 1 << 10;

/// The newest committed state of scopes, as this process knows it.
///
/// An entry counts only while the database has the same version; another process's commit makes
/// it stale without telling.
#[derive(Default)]
pub(crate) struct Records(Mutex<HashMap<ScopeKey, Record>>);

impl Records {
    pub(crate) fn newest(&self, connection: &Connection, scope: &ScopeKey) -> Result<Record, Error> {
        let row: Option<(i64, u64)> = connection
            .prepare_cached("SELECT n, version FROM scope WHERE kind = ?1 AND id = ?2")?
            .query_row((scope.kind.as_str(), &*scope.id), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((n, version)) = row else { return Ok(Record::default()) };
        if let Some(known) = lock(&self.0).get(scope).filter(|known| known.version == version && version > 0) {
            return Ok(known.clone());
        }
        let record = at(connection, n, i64::MAX)?;
        lock(&self.0).insert(scope.clone(), record.clone());
        Ok(record)
    }

    pub(crate) fn put(&self, scope: ScopeKey, record: Record) {
        lock(&self.0).insert(scope, record);
    }

    pub(crate) fn forget(&self) {
        lock(&self.0).clear();
    }
}

/// A scope's state just after an event (by its global id).
pub(crate) fn at(connection: &Connection, scope: i64, event: i64) -> Result<Record, Error> {
    let keyframe: Option<(i64, u64, String)> = connection
        .prepare_cached(
            "SELECT event, version, keyframe FROM change
             WHERE scope = ?1 AND event <= ?2 AND keyframe IS NOT NULL ORDER BY event DESC LIMIT 1",
        )?
        .query_row((scope, event), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (since, mut version, mut state) = match keyframe {
        None => (0, 0, State::default()),
        Some((since, version, text)) => {
            let state = match body::read_value(connection, &text)? {
                Value::Object(fields) => State::from(fields),
                _ => return Err(Error::Damaged("a keyframe is not an object".to_owned())),
            };
            (since, version, state)
        }
    };
    let mut steps = connection.prepare_cached(
        "SELECT event, version, operations FROM change WHERE scope = ?1 AND event > ?2 AND event <= ?3 ORDER BY event",
    )?;
    let mut rows = steps.query((scope, since, event))?;
    while let Some(row) = rows.next()? {
        let (own, after, operations): (i64, u64, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let ids: Vec<i64> = match operations {
            None => vec![own],
            Some(text) => serde_json::from_str(&text)?,
        };
        for id in ids {
            let text: String = connection
                .prepare_cached("SELECT body FROM event WHERE id = ?1")?
                .query_row((id,), |row| row.get(0))?;
            apply(&mut state, &body::read(connection, &text)?);
        }
        version = after;
    }
    Ok(Record { version, state: Arc::new(state) })
}

/// What one event does to the state of its scope.
pub(crate) fn apply(state: &mut State, kind: &EventKind) {
    match kind {
        EventKind::StateInitialized { state: Value::Object(fields), .. } => fill(state, fields),
        EventKind::StateChanged { operation, .. } => drop(operation.apply(state)),
        _ => {}
    }
}

/// A scope while a request writes to it.
pub(crate) struct Live {
    pub(crate) n: i64,
    pub(crate) record: Record,
    /// JSON bytes of deltas since the last keyframe.
    weight: usize,
    /// How heavy they may get before the state is weighed again, so that weighing costs no more
    /// than the deltas did.
    bound: usize,
}

impl Live {
    /// Finds a scope, or makes it at version 0.
    pub(crate) fn open(connection: &Connection, key: &ScopeKey) -> Result<Live, Error> {
        let n: Option<i64> = connection
            .prepare_cached("SELECT n FROM scope WHERE kind = ?1 AND id = ?2")?
            .query_row((key.kind.as_str(), &*key.id), |row| row.get(0))
            .optional()?;
        match n {
            Some(n) => Ok(Live { n, record: at(connection, n, i64::MAX)?, weight: 0, bound: LEAST_KEYFRAME }),
            None => {
                connection
                    .prepare_cached("INSERT INTO scope (kind, id, version) VALUES (?1, ?2, 0)")?
                    .execute((key.kind.as_str(), &*key.id))?;
                Ok(Live { n: connection.last_insert_rowid(), record: Record::default(), weight: 0, bound: LEAST_KEYFRAME })
            }
        }
    }

    /// Writes one step that the event `id` put in force.
    pub(crate) fn step(
        &mut self,
        connection: &Connection,
        id: i64,
        version: u64,
        operations: Option<&[i64]>,
        kinds: &[&EventKind],
    ) -> Result<(), Error> {
        let mut state = (*self.record.state).clone();
        for kind in kinds {
            apply(&mut state, kind);
            self.weight += delta_bytes(kind);
        }
        let mut keyframe = None;
        if self.weight >= self.bound {
            let text = serde_json::to_string(&state)?;
            self.bound = text.len().max(LEAST_KEYFRAME);
            if self.weight >= text.len() {
                self.weight = 0;
                // A keyframe repeats what events hold: it is overhead, not payload.
                keyframe = Some(body::shrink(connection, text, &mut Weight::default())?);
            }
        }
        let operations = operations.map(serde_json::to_string).transpose()?;
        connection
            .prepare_cached("INSERT INTO change (scope, event, version, operations, keyframe) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((self.n, id, version, operations, keyframe))?;
        connection.prepare_cached("UPDATE scope SET version = ?2 WHERE n = ?1")?.execute((self.n, version))?;
        self.record = Record { version, state: Arc::new(state) };
        Ok(())
    }
}

/// About how many bytes an operation adds to the log.
fn delta_bytes(kind: &EventKind) -> usize {
    match kind {
        EventKind::StateInitialized { state, .. } => serde_json::to_string(state).map_or(0, |text| text.len()),
        EventKind::StateChanged { operation, .. } => serde_json::to_string(operation).map_or(0, |text| text.len()),
        _ => 0,
    }
}

/// The scope an event writes by itself, at its own place in the log.
pub(crate) fn immediate(event: &Event) -> Option<&ScopeKey> {
    match &event.kind {
        EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. } if !scope.kind.is_durable() => {
            Some(scope)
        }
        _ => None,
    }
}

/// The kind of a stored name.
pub(crate) fn kind(name: &str) -> Result<ScopeKind, Error> {
    ScopeKind::parse(name).ok_or_else(|| Error::Damaged(format!("unknown scope kind \"{name}\"")))
}
