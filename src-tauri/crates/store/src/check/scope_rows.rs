//! The rows of a scope as the tables have them, to be compared with what its events say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::event::Seq;
use engine::operation::equal;
use engine::scope::ScopeKey;
use engine::state::State;
use rusqlite::Connection;
use serde_json::Value;

use super::Checked;
use super::scopes::{Commit, RolledBackAttempt};
use crate::read::states;
use crate::row::body;
use crate::row::error::Error;

/// A step of a scope's state: its event, the version it makes, and the operations it names.
pub(super) type Change = (i64, u64, Option<String>);

/// What the tables say of a scope.
pub(super) struct ScopeRows {
    pub(super) scope: i64,
    version: u64,
    last: i64,
    changes: Vec<Change>,
    pub(super) keyframes: Vec<Keyframe>,
}

pub(super) struct Keyframe {
    pub(super) event: i64,
    version: u64,
    body: String,
    tombstone: bool,
}

/// A scope's newest version and the event that made it, as readers take them.
const NEWEST: &str = "CASE WHEN request IS NULL THEN version ELSE
         coalesce((SELECT version FROM change WHERE scope = n ORDER BY event DESC LIMIT 1), 0) END,
     CASE WHEN request IS NULL THEN last ELSE coalesce((SELECT max(event) FROM change WHERE scope = n), 0) END";

impl ScopeRows {
    pub(super) fn read(
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        request: Option<i64>,
    ) -> Result<Option<ScopeRows>, Error> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT n, request, {NEWEST} FROM scope WHERE kind = ?1 AND id = ?2"))?;
        let mut rows = statement.query((key.kind.as_str(), &*key.id))?;
        let Some(row) = rows.next()? else {
            found.add(None, None, format!("{key} was written, and has no row"));
            return Ok(None);
        };
        let scope: i64 = row.get(0)?;
        if row.get::<_, Option<i64>>(1)? != request {
            found.add(None, None, format!("{key}: its row belongs to another request"));
        }
        let mut changes = connection
            .prepare_cached("SELECT event, version, operations FROM change WHERE scope = ?1 ORDER BY event")?;
        let changes = changes.query_map((scope,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut keyframes = connection.prepare_cached(
            // What an import brought is the truth as well, at a mark of no request.
            "SELECT k.event, k.version, k.body,
                 k.tombstone OR EXISTS (SELECT 1 FROM event e WHERE e.id = k.event AND e.request = 0)
                 FROM keyframe k WHERE k.scope = ?1 ORDER BY k.event",
        )?;
        let keyframes = keyframes.query_map((scope,), |row| {
            Ok(Keyframe { event: row.get(0)?, version: row.get(1)?, body: row.get(2)?, tombstone: row.get(3)? })
        })?;
        Ok(Some(ScopeRows {
            scope,
            version: row.get(2)?,
            last: row.get(3)?,
            changes: changes.collect::<Result<_, _>>()?,
            keyframes: keyframes.collect::<Result<_, _>>()?,
        }))
    }

    /// Steps that the rows have and the events have not, or the other way round.
    pub(super) fn compare(
        &self,
        found: &mut Checked,
        key: &ScopeKey,
        derived: &[Change],
        seqs: &BTreeMap<i64, (Arc<str>, Seq)>,
        removed: &[Commit],
    ) {
        let gone: BTreeSet<i64> = removed.iter().map(|commit| commit.event).collect();
        let stored: BTreeSet<&Change> = self.changes.iter().filter(|change| !gone.contains(&change.0)).collect();
        let derived: BTreeSet<&Change> = derived.iter().collect();
        for change in stored.symmetric_difference(&derived) {
            let at = seqs.get(&change.0);
            let what = if stored.contains(change) {
                format!("{key} has a step to version {} that its events do not say", change.1)
            } else {
                format!("{key} lacks the step to version {} that its events say", change.1)
            };
            found.add(at.map(|(id, _)| &**id), at.map(|(_, seq)| *seq), what);
        }
        let stand_in = self.keyframes.iter().filter(|keyframe| keyframe.tombstone).map(|keyframe| keyframe.event).max();
        let last = derived.iter().map(|change| change.0).max().max(stand_in).max(gone.last().copied());
        if last != Some(self.last) {
            found.add(None, None, format!("{key}: its row names event {} as its newest, not {last:?}", self.last));
        }
    }

    pub(super) fn compare_newest(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        version: u64,
        derived: &State,
    ) {
        let newest = self.changes.last().map_or(version, |change| change.1.max(version));
        if self.version != newest && self.version != version {
            found.add(None, None, format!("{key}: its row has version {}; its events come to {version}", self.version));
        }
        match states::at(connection, self.scope, i64::MAX) {
            Ok(record) if record.version == version && equal(&record.state.to_json(), &derived.to_json()) => {}
            Ok(record) => found.add(
                None,
                None,
                format!(
                    "{key}: its state is read as {} at version {}; its events come to {} at version {version}",
                    record.state.to_json(),
                    record.version,
                    derived.to_json()
                ),
            ),
            Err(error) => found.add(None, None, format!("{key}: its state cannot be read: {error}")),
        }
    }
}

impl Keyframe {
    /// Compares, or begins anew from what stands in for deleted events.
    pub(super) fn follow(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        at: Option<&(Arc<str>, Seq)>,
        (version, state): (&mut u64, &mut State),
    ) -> Result<(), Error> {
        if !self.tombstone {
            if at.is_none() {
                found.add(None, None, format!("{key} has a keyframe where it has no step"));
            } else {
                self.compare(connection, found, key, at, *version, state);
            }
            return Ok(());
        }
        *version = self.version;
        match body::value(connection, &self.body)? {
            Value::Object(fields) => *state = State::from(fields),
            _ => found.add(None, None, format!("{key}: a keyframe is not an object")),
        }
        Ok(())
    }

    pub(super) fn compare(
        &self,
        connection: &Connection,
        found: &mut Checked,
        key: &ScopeKey,
        at: Option<&(Arc<str>, Seq)>,
        version: u64,
        derived: &State,
    ) {
        let what = match body::value(connection, &self.body) {
            Ok(state) if self.version == version && equal(&state, &derived.to_json()) => return,
            Ok(_) => format!("the keyframe of {key} at version {} is not what its events come to", self.version),
            Err(error) => format!("the keyframe of {key} at version {} cannot be read: {error}", self.version),
        };
        found.add(at.map(|(id, _)| &**id), at.map(|(_, seq)| *seq), what);
    }
}

/// The attempts whose writes to a scope do not count, as the table has them.
pub(super) fn withdrawals(connection: &Connection, scope: i64) -> Result<BTreeSet<RolledBackAttempt>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT w.event, p.text, w.attempt, w.first
         FROM attempt_rollback w JOIN path p ON p.n = w.path WHERE w.scope = ?1",
    )?;
    let rows = statement.query_map((scope,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
