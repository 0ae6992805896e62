//! Finds the attempts whose writes to a scope do not count as of an event.
//!
//! A row says when a rollback was recorded. If a resume runs a failure again, the rollback is recorded only with
//! the attempt that replaces it, but it already applies from the resume on. Readers correct this, so that databases of
//! older versions need no migration.

use std::collections::HashMap;

use crate::read::spans;
use crate::row::attempts::RolledBackAttempt;
use crate::row::error::Error;
use crate::sql::{Connection, OptionalExtension, Row};

/// A row of `attempt_rollback`: the writes before `event` do not count from it on; `first` is the first of them.
pub(crate) struct AttemptRollback {
    pub(crate) event: i64,
    pub(crate) first: i64,
    pub(crate) path: i64,
    pub(crate) attempt: u32,
}

/// The attempts whose writes to a scope do not count as of an event. They include failures that are run again later,
/// from the first resume after their writes on, although their rollback is recorded only when they are replaced or
/// continued.
pub(crate) fn rollbacks(connection: &Connection, scope: i64, as_of: i64) -> Result<Vec<AttemptRollback>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT event, first, path, attempt FROM attempt_rollback WHERE scope = ?1 AND event <= ?2")?;
    let rows = statement.query_map((scope, as_of), read_rollback)?;
    let mut found = rows.collect::<Result<Vec<_>, _>>()?;
    let failed = failures_run_again(connection, scope, as_of)?;
    if failed.iter().any(|failed| failed.first <= as_of) {
        let last = resumes(connection, scope)?.into_iter().rfind(|resume| *resume <= as_of).unwrap_or(0);
        found.extend(failed.into_iter().filter(|failed| failed.first < last));
    }
    Ok(found)
}

fn read_rollback(row: Row<'_>) -> crate::sql::Result<AttemptRollback> {
    Ok(AttemptRollback { event: row.get(0)?, first: row.get(1)?, path: row.get(2)?, attempt: row.get(3)? })
}

/// The failed attempts that wrote to a scope and were replaced or continued after an event.
fn failures_run_again(connection: &Connection, scope: i64, after: i64) -> Result<Vec<AttemptRollback>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT a.event, a.first, a.path, a.attempt FROM attempt_rollback a JOIN event e ON e.id = a.event
         WHERE a.scope = ?1 AND a.event > ?2 AND e.kind IN ('block_started', 'block_resumed')",
    )?;
    let rows = statement.query_map((scope, after), read_rollback)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The events with which the request of a scope was resumed, in order.
fn resumes(connection: &Connection, scope: i64) -> Result<Vec<i64>, Error> {
    let request: Option<(i64, String)> = connection
        .prepare_cached("SELECT n, id FROM request WHERE n = (SELECT request FROM scope WHERE n = ?1)")?
        .query_row((scope,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((n, id)) = request else { return Ok(Vec::new()) };
    let mut resumed = connection
        .prepare_cached("SELECT id FROM event WHERE request = ?1 AND seq = ?2 AND kind = 'request_resumed'")?;
    let mut found = Vec::new();
    for seq in spans::seqs_without_path(connection, &id)? {
        found.extend(resumed.query_row((n, seq), |row| row.get::<_, i64>(0)).optional()?);
    }
    Ok(found)
}

/// For each attempt that failed and ran again, the first resume after its writes: from it on they do not count.
pub(crate) fn resumes_that_roll_back(connection: &Connection, scope: i64) -> Result<impl Iterator<Item = i64>, Error> {
    let failed = failures_run_again(connection, scope, 0)?;
    let resumes = if failed.is_empty() { Vec::new() } else { resumes(connection, scope)? };
    Ok(failed.into_iter().filter_map(move |failed| resumes.iter().find(|resume| **resume > failed.first).copied()))
}

pub(crate) fn by_attempt(rollbacks: &[AttemptRollback]) -> HashMap<(i64, u32), i64> {
    let mut last = HashMap::new();
    for one in rollbacks {
        let until = last.entry((one.path, one.attempt)).or_insert(one.event);
        *until = one.event.max(*until);
    }
    last
}

/// The attempts that wrote to a scope, as rollbacks at the event after `as_of`, so that no keyframe with their writes
/// is used.
pub(crate) fn to_rollbacks(
    connection: &Connection,
    scope: i64,
    as_of: i64,
    attempts: &[RolledBackAttempt],
) -> Result<Vec<AttemptRollback>, Error> {
    let mut found = Vec::new();
    for RolledBackAttempt { attempt: (path, attempt), writes } in attempts {
        let Some(first) = writes.iter().find(|(written, _)| *written == scope).map(|(_, first)| *first) else {
            continue;
        };
        let path =
            connection.prepare_cached("SELECT n FROM path WHERE text = ?1")?.query_row((&**path,), |row| row.get(0))?;
        found.push(AttemptRollback { event: as_of.saturating_add(1), first, path, attempt: *attempt });
    }
    Ok(found)
}
