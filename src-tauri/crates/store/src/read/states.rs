//! The state of any scope as of any event: the nearest keyframe, and the changes since, applied by the engine.
//!
//! `as_of` is the global id of an event: everything committed up to and including it counts. All readers and the
//! writer's keyframes use the same function, so no two views of a state can differ.

use engine::resource::record;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::event::Seq;
use engine::log::Record;
use engine::operation::Operation;
use engine::scope::ScopeKey;
use engine::state::State;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::read::state_rollbacks::{AttemptRollback, by_attempt, resumes_that_roll_back, rollbacks, to_rollbacks};
use crate::row::attempts::RolledBackAttempt;
use crate::row::body;
use crate::row::error::Error;

/// The row number of a scope, if it ever had state.
pub(crate) fn find(connection: &Connection, scope: &ScopeKey) -> Result<Option<i64>, Error> {
    Ok(connection
        .prepare_cached("SELECT n FROM scope WHERE kind = ?1 AND id = ?2")?
        .query_row((scope.kind.as_str(), &*scope.id), |row| row.get(0))
        .optional()?)
}

/// The global id of the newest event of a request up to `seq`. If `seq` is 0, the id before its first event. `None` if
/// there is no such request.
pub(crate) fn event_id(connection: &Connection, request: &str, seq: Seq) -> Result<Option<i64>, Error> {
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    Ok(connection
        .prepare_cached(
            "SELECT CASE WHEN seq <= ?2 THEN id ELSE id - 1 END FROM event
             WHERE request = (SELECT n FROM request WHERE id = ?1) AND seq <= max(?2, 1)
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row((request, seq), |row| row.get(0))
        .optional()?)
}

/// A scope's state as of an event.
pub(crate) fn at(connection: &Connection, scope: i64, as_of: i64) -> Result<Record, Error> {
    at_given(connection, scope, as_of, rollbacks(connection, scope, as_of)?)
}

/// As [`at`], for the newest event of a request that no process runs: its unfinished attempts do not count.
pub(crate) fn at_rest(
    connection: &Connection,
    scope: i64,
    as_of: i64,
    unfinished: &[RolledBackAttempt],
) -> Result<Record, Error> {
    let mut rollbacks = rollbacks(connection, scope, as_of)?;
    rollbacks.extend(to_rollbacks(connection, scope, as_of, unfinished)?);
    at_given(connection, scope, as_of, rollbacks)
}

fn at_given(connection: &Connection, scope: i64, as_of: i64, rollbacks: Vec<AttemptRollback>) -> Result<Record, Error> {
    let (since, record) = match base_keyframe(connection, scope, as_of, &rollbacks)? {
        None => (0, Record::default()),
        Some(event) => (event, read_keyframe(connection, scope, event)?),
    };
    apply_changes(connection, scope, since, as_of, &rollbacks, (record, OnDamage::Fail))
}

/// As [`at`], but changes that cannot be read are left out: used to delete the session that they belong to.
pub(crate) fn at_skipping_damage(connection: &Connection, scope: i64, as_of: i64) -> Result<Record, Error> {
    let rollbacks = rollbacks(connection, scope, as_of)?;
    let (since, record) = match base_keyframe(connection, scope, as_of, &rollbacks)? {
        None => (0, Record::default()),
        Some(event) => (event, read_keyframe(connection, scope, event)?),
    };
    apply_changes(connection, scope, since, as_of, &rollbacks, (record, OnDamage::Skip))
}

/// What to do about a change that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDamage {
    /// Fail with [`Error::Damaged`].
    Fail,
    /// Leave it out.
    Skip,
}

/// A durable scope's state as of an event, without the changes that took it beyond `version`.
pub(crate) fn at_version(connection: &Connection, scope: i64, as_of: i64, version: u64) -> Result<Record, Error> {
    let mut newest = connection.prepare_cached(&format!("{STANDALONE_KEYFRAMES} ORDER BY k.event DESC LIMIT 1"))?;
    let mut first_beyond = connection.prepare_cached(
        "SELECT min(event) FROM change WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 AND version > ?4",
    )?;
    let mut as_of = as_of;
    loop {
        // The changes before such a keyframe may come from another database, whose versions are not comparable.
        let standalone: Option<i64> = newest.query_row((scope, 0, as_of), |row| row.get(0)).optional()?;
        let change: Option<i64> =
            first_beyond.query_row((scope, standalone.unwrap_or(0) + 1, as_of, version), |row| row.get(0))?;
        let record = at(connection, scope, change.map_or(as_of, |change| change - 1))?;
        match standalone {
            Some(standalone) if record.version > version => {
                as_of = imported_ranges(connection, standalone, standalone)?
                    .first()
                    .map_or(standalone, |(first, _)| *first)
                    - 1;
            }
            _ => return Ok(record),
        }
    }
}

/// The keyframes of a scope in a range of events that no change leads to: those of imports, and tombstones.
const STANDALONE_KEYFRAMES: &str = "SELECT k.event FROM keyframe k LEFT JOIN event e ON e.id = k.event
    WHERE k.scope = ?1 AND k.event BETWEEN ?2 AND ?3 AND (k.tombstone = 1 OR e.request = 0)";

/// The imported ranges of events that overlap a range: the ids of the two boundary events of each. The events between
/// them happened in another database.
pub(crate) fn imported_ranges(connection: &Connection, from: i64, to: i64) -> Result<Vec<(i64, i64)>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id, last FROM (SELECT id, CAST(json_extract(body, '$.last') AS bigint) AS last FROM event
             WHERE request = 0 AND id <= ?2) AS boundary
         WHERE last >= ?1 ORDER BY id",
    )?;
    let rows = statement.query_map((from, to), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Advances a durable record from its state as of the event `since` to `as_of`.
pub(crate) fn advance(
    connection: &Connection,
    scope: i64,
    since: i64,
    as_of: i64,
    record: Record,
) -> Result<Record, Error> {
    if has_keyframe(connection, scope, since, as_of)? {
        return at(connection, scope, as_of);
    }
    apply_changes(connection, scope, since, as_of, &[], (record, OnDamage::Fail))
}

/// As [`advance`], but changes that cannot be read are left out.
pub(crate) fn advance_skipping_damage(
    connection: &Connection,
    scope: i64,
    since: i64,
    as_of: i64,
    record: Record,
) -> Result<Record, Error> {
    if has_keyframe(connection, scope, since, as_of)? {
        return at_skipping_damage(connection, scope, as_of);
    }
    apply_changes(connection, scope, since, as_of, &[], (record, OnDamage::Skip))
}

/// Whether there is a keyframe after an event. It may be one that no change leads to, so changes alone do not suffice.
fn has_keyframe(connection: &Connection, scope: i64, since: i64, as_of: i64) -> Result<bool, Error> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM keyframe WHERE scope = ?1 AND event > ?2 AND event <= ?3 LIMIT 1")?;
    Ok(statement.exists((scope, since, as_of))?)
}

/// Whether the change at the event `change` and all later ones are still there, and none was replaced by a tombstone.
pub(crate) fn has_all_changes_since(connection: &Connection, scope: i64, change: i64) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM change WHERE scope = ?1 AND event = ?2)
             AND NOT EXISTS (SELECT 1 FROM keyframe WHERE scope = ?1 AND event > ?2 AND tombstone = 1)",
        )?
        .query_row((scope, change), |row| row.get(0))?)
}

/// The attempts whose writes to a scope do not count as of an event, `unfinished` ones included: the row number of the
/// path, the attempt, and the event before which its writes do not count. One that went on may have written since.
pub(crate) fn rolled_back_attempts(
    connection: &Connection,
    scope: i64,
    as_of: i64,
    unfinished: &[RolledBackAttempt],
) -> Result<HashMap<(i64, u32), i64>, Error> {
    let mut rollbacks = rollbacks(connection, scope, as_of)?;
    rollbacks.extend(to_rollbacks(connection, scope, as_of, unfinished)?);
    Ok(by_attempt(&rollbacks))
}

/// The newest keyframe at or before an event that contains no writes that were rolled back by then.
pub(crate) fn base_keyframe_at(connection: &Connection, scope: i64, as_of: i64) -> Result<Option<i64>, Error> {
    base_keyframe(connection, scope, as_of, &rollbacks(connection, scope, as_of)?)
}

/// The events of a range at which a scope's state does not follow from its changes: tombstones, and boundaries of
/// imports.
pub(crate) fn standalone_keyframes(
    connection: &Connection,
    scope: i64,
    from: i64,
    to: i64,
) -> Result<BTreeSet<i64>, Error> {
    let mut statement = connection.prepare_cached(STANDALONE_KEYFRAMES)?;
    let rows = statement.query_map((scope, from, to), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// As [`standalone_keyframes`], and the events at which attempts were rolled back or forgotten: see
/// [`rollbacks`].
pub(crate) fn discontinuities(connection: &Connection, scope: i64, from: i64, to: i64) -> Result<BTreeSet<i64>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT event FROM attempt_rollback WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 UNION {STANDALONE_KEYFRAMES}"
    ))?;
    let rows = statement.query_map((scope, from, to), |row| row.get(0))?;
    let mut found: BTreeSet<i64> = rows.collect::<Result<_, _>>()?;
    found.extend(resumes_that_roll_back(connection, scope)?.filter(|resume| (from..=to).contains(resume)));
    Ok(found)
}

fn base_keyframe(
    connection: &Connection,
    scope: i64,
    as_of: i64,
    rollbacks: &[AttemptRollback],
) -> Result<Option<i64>, Error> {
    let mut newest = connection.prepare_cached("SELECT max(event) FROM keyframe WHERE scope = ?1 AND event <= ?2")?;
    let mut before = as_of;
    loop {
        let Some(event) = newest.query_row((scope, before), |row| row.get::<_, Option<i64>>(0))? else {
            return Ok(None);
        };
        let holds = |rollback: &&AttemptRollback| rollback.first <= event && event < rollback.event;
        match rollbacks.iter().filter(holds).map(|rollback| rollback.first).min() {
            None => return Ok(Some(event)),
            Some(first) => before = first - 1,
        }
    }
}

fn read_keyframe(connection: &Connection, scope: i64, event: i64) -> Result<Record, Error> {
    let (version, text): (u64, String) = connection
        .prepare_cached("SELECT version, body FROM keyframe WHERE scope = ?1 AND event = ?2")?
        .query_row((scope, event), |row| Ok((row.get(0)?, row.get(1)?)))?;
    match body::value(connection, &text)? {
        Value::Object(fields) => Ok(Record { version, state: Arc::new(State::from(fields)) }),
        _ => Err(Error::Damaged("a keyframe is not an object".to_owned())),
    }
}

fn apply_changes(
    connection: &Connection,
    scope: i64,
    since: i64,
    as_of: i64,
    rollbacks: &[AttemptRollback],
    (mut record, on_damage): (Record, OnDamage),
) -> Result<Record, Error> {
    let unless_skipped = |result| match result {
        Err(Error::Damaged(_)) if on_damage == OnDamage::Skip => Ok(()),
        result => result,
    };
    let rolled_back = by_attempt(rollbacks);
    let state = Arc::make_mut(&mut record.state);
    let mut changes = connection.prepare_cached(
        "SELECT c.version, c.operations, e.kind, e.body, e.path, e.attempt, e.request, e.seq, c.event
         FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.event <= ?3 ORDER BY c.event",
    )?;
    let mut rows = changes.query((scope, since, as_of))?;
    while let Some(row) = rows.next()? {
        let Some(operations) = row.get_ref(1)?.as_str_or_null().map_err(column_error)? else {
            // Initial values belong to the scope, so a rollback does not apply to `state_initialized`.
            if row.get_ref(2)?.as_str().map_err(column_error)? == "state_changed"
                && let Some(path) = row.get::<_, Option<i64>>(4)?
                && let Some(until) = rolled_back.get(&(path, row.get(5)?))
                && row.get::<_, i64>(8)? < *until
            {
                continue;
            }
            let text = |at| row.get_ref(at).map_err(Error::from).and_then(|text| text.as_str().map_err(column_error));
            let applied = text(2).and_then(|kind| apply(connection, state, kind, text(3)?));
            unless_skipped(applied)?;
            record.version = row.get(0)?;
            continue;
        };
        let (request, seq): (i64, i64) = (row.get(6)?, row.get(7)?);
        let mut find = connection.prepare_cached("SELECT kind, body FROM event WHERE request = ?1 AND seq = ?2")?;
        for back in read_operations(operations) {
            let mut found = find.query((request, seq - back?))?;
            let Some(operation) = found.next()? else {
                unless_skipped(Err(Error::Damaged("a commit names no event".to_owned())))?;
                continue;
            };
            let text = |at| {
                operation
                    .get_ref(at)
                    .map_err(Error::from)
                    .and_then(|text| text.as_str().map_err(column_error).map(str::to_owned))
            };
            let applied = text(0).and_then(|kind| apply(connection, state, &kind, &text(1)?));
            unless_skipped(applied)?;
        }
        record.version = row.get(0)?;
    }
    Ok(record)
}

/// Encodes `change.operations` of a commit at `seq`: by how many `seq` each operation precedes it, comma-separated.
pub(crate) fn write_operations(seq: Seq, operations: &[Seq]) -> String {
    let back: Vec<String> = operations.iter().map(|operation| seq.saturating_sub(*operation).to_string()).collect();
    back.join(",")
}

/// Decodes `change.operations`; see [`write_operations`].
pub(crate) fn read_operations(text: &str) -> impl Iterator<Item = Result<i64, Error>> {
    text.split(',')
        .filter(|back| !back.is_empty())
        .map(|back| back.parse().map_err(|_| Error::Damaged(format!("\"{back}\" does not name an operation"))))
}

fn apply(connection: &Connection, state: &mut State, kind: &str, text: &str) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Changed {
        operation: Operation,
    }
    #[derive(Deserialize)]
    struct Initialized {
        #[serde(deserialize_with = "engine::json::exact")]
        state: Map<String, Value>,
    }
    match kind {
        "state_changed" => {
            body::fields::<Changed>(connection, text)?.operation.apply(state);
        }
        // Initial values do not overwrite fields that were written before.
        "state_initialized" => state.fill_in(&body::fields::<Initialized>(connection, text)?.state),
        other => {
            return Err(Error::Damaged(format!("a {other} event is not an operation")));
        }
    }
    Ok(())
}

fn column_error(error: crate::sql::FromSqlError) -> Error {
    Error::Damaged(error.to_string())
}

/// The row numbers of all resources of a scope, and of the indexes of its collections.
pub(crate) fn resources_of(connection: &Connection, scope: &ScopeKey) -> Result<Vec<i64>, Error> {
    // A resource's id is its owner, then `/` and a path, or `:` and a flow. The upper bound of each range is the next
    // ASCII character: `0` follows `/`, and `;` follows `:`.
    let mut statement = connection.prepare_cached(
        "SELECT n FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';')",
    )?;
    let rows = statement.query_map((record::prefix(scope),), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
