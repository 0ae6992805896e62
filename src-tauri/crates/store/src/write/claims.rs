//! Claims: which request holds a concurrency key, and which ones wait for it (SEMANTICS §1.6).
//!
//! The index `request_by_claim` has the requests that have not ended. A request whose owner is dead neither holds a
//! key nor waits for it. An answer is reliable only inside the transaction that puts the request in progress.

use crate::sql::{Connection, OptionalExtension};
use engine::concurrency::status_after;
use engine::event::{EventKind, RequestStatus};

use crate::file::owners::Owners;
use crate::row::error::Error;
use crate::write::append_batch::AppendBatch;

/// The request because of which a batch must be refused: the batch would put its own request in progress, and the
/// other one holds the same key, or waits for it and was accepted earlier. `known` is the row number of the batch's
/// request if that exists.
pub(crate) fn blocking_request(
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
            Some(claim) if !claim.starts_at_once() => holder_or_earlier(connection, &claim.key, i64::MAX, owners),
            _ => Ok(None),
        },
        (_, Some(n)) => match key_of(connection, n)? {
            Some(key) if !starts_at_once(connection, n)? => holder_or_earlier(connection, &key, n, owners),
            _ => Ok(None),
        },
        (_, None) => Ok(None),
    }
}

/// Whether nothing keeps a queued request from being put in progress now.
pub(crate) fn can_start(connection: &Connection, request: &str, owners: &Owners) -> Result<bool, Error> {
    let row: Option<(i64, Option<String>)> = connection
        .prepare_cached("SELECT n, claim FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match row {
        Some((n, Some(key))) => Ok(holder_or_earlier(connection, &key, n, owners)?.is_none()),
        _ => Ok(true),
    }
}

fn key_of(connection: &Connection, request: i64) -> Result<Option<String>, Error> {
    Ok(connection.prepare_cached("SELECT claim FROM request WHERE n = ?1")?.query_row((request,), |row| row.get(0))?)
}

/// Whether a request was accepted with policy `hold`, which only its first event says.
fn starts_at_once(connection: &Connection, request: i64) -> Result<bool, Error> {
    let policy: Option<Option<String>> = connection
        .prepare_cached("SELECT json_extract(body, '$.claim.policy') FROM event WHERE request = ?1 AND seq = 1")?
        .query_row((request,), |row| row.get(0))
        .optional()?;
    Ok(policy.flatten().as_deref() == Some("hold"))
}

/// The request that holds a key; if none does, the first that waits for it and was accepted before `request`.
fn holder_or_earlier(
    connection: &Connection,
    key: &str,
    request: i64,
    owners: &Owners,
) -> Result<Option<String>, Error> {
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
