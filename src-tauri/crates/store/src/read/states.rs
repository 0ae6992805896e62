//! Any instant of any scope: the nearest keyframe, and the steps since, applied by the engine's rule.
//!
//! An instant is the global id of an event: everything committed up to it counts. One function serves
//! every reader and the writer's keyframes, so no two views of a state can disagree.

use engine::resource::record;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use engine::event::Seq;
use engine::log::Record;
use engine::operation::Operation;
use engine::scope::ScopeKey;
use engine::state::State;
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::row::attempts::RolledBackAttempt;
use crate::row::body;
use crate::row::error::Error;

/// The number of a scope that ever had state.
pub(crate) fn find(connection: &Connection, scope: &ScopeKey) -> Result<Option<i64>, Error> {
    Ok(connection
        .prepare_cached("SELECT n FROM scope WHERE kind = ?1 AND id = ?2")?
        .query_row((scope.kind.as_str(), &*scope.id), |row| row.get(0))
        .optional()?)
}

/// The instant just after an event of a request; the instant before the request where `seq` is 0.
pub(crate) fn instant(connection: &Connection, request: &str, seq: Seq) -> Result<Option<i64>, Error> {
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

/// A scope's state at an instant.
pub(crate) fn at(connection: &Connection, scope: i64, instant: i64) -> Result<Record, Error> {
    at_without(connection, scope, instant, withdrawals(connection, scope, instant)?)
}

/// As [`at`], of a request that nobody runs at its newest event: what had not ended is without effect.
pub(crate) fn at_rest(
    connection: &Connection,
    scope: i64,
    instant: i64,
    unfinished: &[RolledBackAttempt],
) -> Result<Record, Error> {
    let mut withdrawals = withdrawals(connection, scope, instant)?;
    withdrawals.extend(those_of(connection, scope, instant, unfinished)?);
    at_without(connection, scope, instant, withdrawals)
}

fn at_without(
    connection: &Connection,
    scope: i64,
    instant: i64,
    withdrawals: Vec<AttemptRollback>,
) -> Result<Record, Error> {
    let (since, record) = match base(connection, scope, instant, &withdrawals)? {
        None => (0, Record::default()),
        Some(event) => (event, read_keyframe(connection, scope, event)?),
    };
    apply_steps(connection, scope, since, instant, &withdrawals, (record, Damage::Told))
}

/// As [`at`], where steps that cannot be read are left out: for who takes their session out, and what they did with it.
pub(crate) fn at_without_damage(connection: &Connection, scope: i64, instant: i64) -> Result<Record, Error> {
    let withdrawals = withdrawals(connection, scope, instant)?;
    let (since, record) = match base(connection, scope, instant, &withdrawals)? {
        None => (0, Record::default()),
        Some(event) => (event, read_keyframe(connection, scope, event)?),
    };
    apply_steps(connection, scope, since, instant, &withdrawals, (record, Damage::LeftOut))
}

/// What becomes of a step that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Whoever asks hears of it, and of nothing else.
    Told,
    /// The others are read without it.
    LeftOut,
}

/// A durable scope's state at an instant, without what took it beyond a version.
pub(crate) fn seen(connection: &Connection, scope: i64, instant: i64, version: u64) -> Result<Record, Error> {
    let mut newest = connection.prepare_cached(&format!("{TRUTHS} ORDER BY k.event DESC LIMIT 1"))?;
    let mut beyond = connection.prepare_cached(
        "SELECT min(event) FROM change WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 AND version > ?4",
    )?;
    let mut instant = instant;
    loop {
        // Before it the steps may be those of another database, whose versions say nothing here.
        let truth: Option<i64> = newest.query_row((scope, 0, instant), |row| row.get(0)).optional()?;
        let step: Option<i64> =
            beyond.query_row((scope, truth.unwrap_or(0) + 1, instant, version), |row| row.get(0))?;
        let record = at(connection, scope, step.map_or(instant, |step| step - 1))?;
        match truth {
            Some(truth) if record.version > version => {
                instant = imports(connection, truth, truth)?.first().map_or(truth, |(first, _)| *first) - 1;
            }
            _ => return Ok(record),
        }
    }
}

/// The keyframes of a scope in a span that no step leads to: what was put in force beside an import, and what
/// stands for deleted steps.
const TRUTHS: &str = "SELECT k.event FROM keyframe k LEFT JOIN event e ON e.id = k.event
    WHERE k.scope = ?1 AND k.event BETWEEN ?2 AND ?3 AND (k.tombstone OR e.request = 0)";

/// The stretches of events that imports brought and that meet a span: the mark before each, and the one after.
/// What happened in them happened in another database.
pub(crate) fn imports(connection: &Connection, from: i64, to: i64) -> Result<Vec<(i64, i64)>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id, json_extract(body, '$.last') AS last FROM event
         WHERE request = 0 AND id <= ?2 AND last >= ?1 ORDER BY id",
    )?;
    let rows = statement.query_map((from, to), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Moves a durable record, known just after the event `since`, on to an instant.
pub(crate) fn forward(
    connection: &Connection,
    scope: i64,
    since: i64,
    instant: i64,
    record: Record,
) -> Result<Record, Error> {
    if has_keyframe(connection, scope, since, instant)? {
        return at(connection, scope, instant);
    }
    apply_steps(connection, scope, since, instant, &[], (record, Damage::Told))
}

/// The same, as [`at_without_damage`].
pub(crate) fn forward_without_damage(
    connection: &Connection,
    scope: i64,
    since: i64,
    instant: i64,
    record: Record,
) -> Result<Record, Error> {
    if has_keyframe(connection, scope, since, instant)? {
        return at_without_damage(connection, scope, instant);
    }
    apply_steps(connection, scope, since, instant, &[], (record, Damage::LeftOut))
}

/// Whether there is a keyframe after an event: it may be what an import brought, which no step leads to.
fn has_keyframe(connection: &Connection, scope: i64, since: i64, instant: i64) -> Result<bool, Error> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM keyframe WHERE scope = ?1 AND event > ?2 AND event <= ?3 LIMIT 1")?;
    Ok(statement.exists((scope, since, instant))?)
}

/// Whether the steps of a scope from one on are all there: neither it nor a later one was deleted.
pub(crate) fn is_whole_since(connection: &Connection, scope: i64, step: i64) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM change WHERE scope = ?1 AND event = ?2)
             AND NOT EXISTS (SELECT 1 FROM keyframe WHERE scope = ?1 AND event > ?2 AND tombstone)",
        )?
        .query_row((scope, step), |row| row.get(0))?)
}

/// The attempts whose writes to a scope are without effect by the end of an instant, those that have not ended
/// included, each by the number of its path.
pub(crate) fn without_effect(
    connection: &Connection,
    scope: i64,
    instant: i64,
    unfinished: &[RolledBackAttempt],
) -> Result<HashSet<(i64, u32)>, Error> {
    let mut gone = withdrawals(connection, scope, instant)?;
    gone.extend(those_of(connection, scope, instant, unfinished)?);
    Ok(gone.iter().map(|one| (one.path, one.attempt)).collect())
}

/// Those attempts that wrote to a scope, as if they were rolled back after an instant.
fn those_of(
    connection: &Connection,
    scope: i64,
    instant: i64,
    attempts: &[RolledBackAttempt],
) -> Result<Vec<AttemptRollback>, Error> {
    let mut found = Vec::new();
    for RolledBackAttempt { attempt: (path, attempt), writes } in attempts {
        let Some(first) = writes.iter().find(|(written, _)| *written == scope).map(|(_, first)| *first) else {
            continue;
        };
        let path =
            connection.prepare_cached("SELECT n FROM path WHERE text = ?1")?.query_row((&**path,), |row| row.get(0))?;
        found.push(AttemptRollback { event: instant.saturating_add(1), first, path, attempt: *attempt });
    }
    Ok(found)
}

/// The newest keyframe at or before an instant that holds nothing withdrawn by then.
pub(crate) fn usable_keyframe(connection: &Connection, scope: i64, instant: i64) -> Result<Option<i64>, Error> {
    base(connection, scope, instant, &withdrawals(connection, scope, instant)?)
}

/// The events of a span just after which a scope's state does not follow from its last step: steps were deleted
/// there, or an import ended.
pub(crate) fn gaps(connection: &Connection, scope: i64, from: i64, to: i64) -> Result<BTreeSet<i64>, Error> {
    let mut statement = connection.prepare_cached(TRUTHS)?;
    let rows = statement.query_map((scope, from, to), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// As [`gaps`], and where attempts were rolled back.
pub(crate) fn jumps(connection: &Connection, scope: i64, from: i64, to: i64) -> Result<BTreeSet<i64>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT event FROM attempt_rollback WHERE scope = ?1 AND event BETWEEN ?2 AND ?3 UNION {TRUTHS}"
    ))?;
    let rows = statement.query_map((scope, from, to), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// An attempt whose writes stopped counting at `event`; `first` was the first of them.
struct AttemptRollback {
    event: i64,
    first: i64,
    path: i64,
    attempt: u32,
}

fn withdrawals(connection: &Connection, scope: i64, instant: i64) -> Result<Vec<AttemptRollback>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT event, first, path, attempt FROM attempt_rollback WHERE scope = ?1 AND event <= ?2")?;
    let rows = statement.query_map((scope, instant), |row| {
        Ok(AttemptRollback { event: row.get(0)?, first: row.get(1)?, path: row.get(2)?, attempt: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn base(
    connection: &Connection,
    scope: i64,
    instant: i64,
    withdrawals: &[AttemptRollback],
) -> Result<Option<i64>, Error> {
    let mut newest = connection.prepare_cached("SELECT max(event) FROM keyframe WHERE scope = ?1 AND event <= ?2")?;
    let mut before = instant;
    loop {
        let Some(event) = newest.query_row((scope, before), |row| row.get::<_, Option<i64>>(0))? else {
            return Ok(None);
        };
        let holds = |withdrawal: &&AttemptRollback| withdrawal.first <= event && event < withdrawal.event;
        match withdrawals.iter().filter(holds).map(|withdrawal| withdrawal.first).min() {
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

fn apply_steps(
    connection: &Connection,
    scope: i64,
    since: i64,
    instant: i64,
    withdrawals: &[AttemptRollback],
    (mut record, damage): (Record, Damage),
) -> Result<Record, Error> {
    let unless_left_out = |result| match result {
        Err(Error::Damaged(_)) if damage == Damage::LeftOut => Ok(()),
        result => result,
    };
    let withdrawn: HashSet<(i64, u32)> = withdrawals.iter().map(|one| (one.path, one.attempt)).collect();
    let state = Arc::make_mut(&mut record.state);
    let mut steps = connection.prepare_cached(
        "SELECT c.version, c.operations, e.kind, e.body, e.path, e.attempt, e.request, e.seq
         FROM change c JOIN event e ON e.id = c.event
         WHERE c.scope = ?1 AND c.event > ?2 AND c.event <= ?3 ORDER BY c.event",
    )?;
    let mut rows = steps.query((scope, since, instant))?;
    while let Some(row) = rows.next()? {
        let Some(operations) = row.get_ref(1)?.as_str_or_null().map_err(column)? else {
            // First values are the scope's own, whatever becomes of the attempt.
            if row.get_ref(2)?.as_str().map_err(column)? == "state_changed"
                && row
                    .get::<_, Option<i64>>(4)?
                    .is_some_and(|path| row.get(5).is_ok_and(|attempt: u32| withdrawn.contains(&(path, attempt))))
            {
                continue;
            }
            let text = |at| row.get_ref(at).map_err(Error::from).and_then(|text| text.as_str().map_err(column));
            let applied = text(2).and_then(|kind| apply(connection, state, kind, text(3)?));
            unless_left_out(applied)?;
            record.version = row.get(0)?;
            continue;
        };
        let (request, seq): (i64, i64) = (row.get(6)?, row.get(7)?);
        let mut find = connection.prepare_cached("SELECT kind, body FROM event WHERE request = ?1 AND seq = ?2")?;
        for back in read_operations(operations) {
            let mut found = find.query((request, seq - back?))?;
            let Some(operation) = found.next()? else {
                unless_left_out(Err(Error::Damaged("a commit names no event".to_owned())))?;
                continue;
            };
            let text = |at| {
                operation
                    .get_ref(at)
                    .map_err(Error::from)
                    .and_then(|text| text.as_str().map_err(column).map(str::to_owned))
            };
            let applied = text(0).and_then(|kind| apply(connection, state, &kind, &text(1)?));
            unless_left_out(applied)?;
        }
        record.version = row.get(0)?;
    }
    Ok(record)
}

/// A commit's operations as `change.operations` has them: how far each lies back from event `seq`.
pub(crate) fn write_operations(seq: Seq, operations: &[Seq]) -> String {
    let back: Vec<String> = operations.iter().map(|operation| seq.saturating_sub(*operation).to_string()).collect();
    back.join(",")
}

/// How far a commit's operations lie back.
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
        // Fields that are there already were written earlier, and count.
        "state_initialized" => state.fill_in(&body::fields::<Initialized>(connection, text)?.state),
        other => {
            return Err(Error::Damaged(format!("a {other} event is not an operation")));
        }
    }
    Ok(())
}

fn column(error: rusqlite::types::FromSqlError) -> Error {
    Error::Damaged(error.to_string())
}

/// Every resource of a scope, and the indexes of its collections.
pub(crate) fn resources_of(connection: &Connection, scope: &ScopeKey) -> Result<Vec<i64>, Error> {
    // After an owner comes `/` and a path, or `:` and a flow; each range ends at the next character.
    let mut statement = connection.prepare_cached(
        "SELECT n FROM scope WHERE kind = 'resource'
         AND (id >= ?1 || '/' AND id < ?1 || '0' OR id >= ?1 || ':' AND id < ?1 || ';')",
    )?;
    let rows = statement.query_map((record::prefix(scope),), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
