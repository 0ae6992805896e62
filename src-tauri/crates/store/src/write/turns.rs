//! Whose turn it is: requests that hold a key, and those that wait for it (SEMANTICS §1.6).
//!
//! One index has those of them that have not ended. A request of a dead process holds nothing and
//! keeps nobody waiting. Asked inside the one transaction that lets a request begin, the answer holds.

use engine::concurrency::status_after;
use engine::event::{EventKind, RequestStatus};
use rusqlite::{Connection, OptionalExtension};

use crate::file::open::Owners;
use crate::row::error::Error;
use crate::write::append_batch::AppendBatch;

/// The request that keeps a batch from being written, because the batch would put its own in progress.
pub(crate) fn in_the_way_of(
    connection: &Connection,
    batch: &AppendBatch,
    known: Option<i64>,
    owners: &Owners,
) -> Result<Option<String>, Error> {
    let events = batch.drafts.iter().map(|draft| &draft.event);
    if status_after(events) != Some(RequestStatus::InProgress) {
        return Ok(None);
    }
    match (batch.drafts.first().map(|draft| &draft.event.kind), known) {
        (Some(EventKind::RequestStarted { claim, .. }), _) => match claim {
            Some(claim) => before(connection, &claim.key, i64::MAX, owners),
            None => Ok(None),
        },
        (_, Some(n)) => match claim_of(connection, n)? {
            Some(key) => before(connection, &key, n, owners),
            None => Ok(None),
        },
        (_, None) => Ok(None),
    }
}

/// Whether a request could go on now.
pub(crate) fn may_leave_queue(connection: &Connection, request: &str, owners: &Owners) -> Result<bool, Error> {
    let row: Option<(i64, Option<String>)> = connection
        .prepare_cached("SELECT n, claim FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match row {
        Some((n, Some(key))) => Ok(before(connection, &key, n, owners)?.is_none()),
        _ => Ok(true),
    }
}

fn claim_of(connection: &Connection, request: i64) -> Result<Option<String>, Error> {
    Ok(connection.prepare_cached("SELECT claim FROM request WHERE n = ?1")?.query_row((request,), |row| row.get(0))?)
}

/// The request that holds a key; else the first that was accepted before `request` and waits for it.
fn before(connection: &Connection, key: &str, request: i64, owners: &Owners) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT id, owner FROM request
         WHERE claim = ?1 AND status IN ('queued', 'in_progress') AND n <> ?2 AND (status = 'in_progress' OR n < ?2)
         ORDER BY status = 'queued', n",
    )?;
    let mut rows = statement.query((key, request))?;
    while let Some(row) = rows.next()? {
        if owners.is_alive(&row.get::<_, String>(1)?) {
            return Ok(Some(row.get(0)?));
        }
    }
    Ok(None)
}
