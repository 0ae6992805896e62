//! Loads the open attempts of a request when the writer takes over a request that this process has not written: after a
//! crash, or from another process.
//!
//! This runs under the write lock, so it decodes no log: it reads the open attempts from the pages of spans,
//! and only the events of those. Must return the same as
//! [`Attempts::load`](crate::row::attempts::Attempts::load) for the newest event.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sql::Connection;
use engine::event::{BlockKind, EventKind, Seq};
use engine::views::attempts::Verdict;
use engine::views::spans::{SpanEnd, Spans};

use crate::read::{spans, states};
use crate::row::attempts::{Attempt, Attempts, FirstWrite};
use crate::row::body;
use crate::row::error::Error;

/// Reads the open attempts of a request, with their first writes.
pub(crate) fn load(connection: &Connection, request: i64, id: &str) -> Result<Attempts, Error> {
    let mut spans = Spans::default();
    spans::extend(connection, id, &mut spans)?;
    let mut attempts = Attempts::default();
    // A call of a hook is not an attempt: its writes belong to the block around it.
    for span in spans.unfinished().filter(|span| span.kind != BlockKind::Hook) {
        let path: Arc<str> = connection
            .prepare_cached("SELECT text FROM path WHERE n = ?1")?
            .query_row((span.path,), |row| row.get(0))?;
        attempts.apply_verdict(Some(&path), span.attempt, Some(Verdict::Begins));
        for write in first_writes(connection, request, &(path.clone(), span.attempt), (id, Seq::MAX))? {
            attempts.add_write(Some(&path), span.attempt, write);
        }
    }
    for span in spans.iter().filter(|span| matches!(span.end, Some(SpanEnd::Failed | SpanEnd::TimedOut))) {
        let path = connection
            .prepare_cached("SELECT text FROM path WHERE n = ?1")?
            .query_row((span.path,), |row| row.get(0))?;
        attempts.add_failed((path, span.attempt));
    }
    Ok(attempts)
}

/// The first writes of a failed attempt, before the event by which it is resumed or replaced.
pub(super) fn writes_of_failed(
    connection: &Connection,
    request: i64,
    failed: &Attempt,
    before: Seq,
) -> Result<Vec<FirstWrite>, Error> {
    let id: String =
        connection.prepare_cached("SELECT id FROM request WHERE n = ?1")?.query_row((request,), |row| row.get(0))?;
    Ok(first_writes(connection, request, failed, (&id, before))?.into_iter().collect())
}

/// The first write of an attempt to each scope of its request, since its last resume.
fn first_writes(
    connection: &Connection,
    request: i64,
    (path, attempt): &Attempt,
    (id, before): (&str, Seq),
) -> Result<BTreeMap<i64, i64>, Error> {
    let mut found = BTreeMap::new();
    let mut event = connection.prepare_cached(
        "SELECT id, body, kind FROM event
         WHERE request = ?1 AND seq = ?2 AND attempt = ?3 AND kind IN ('state_changed', 'block_resumed')",
    )?;
    let mut is_own = connection.prepare_cached(
        "SELECT 1 FROM scope s JOIN change c ON c.scope = s.n WHERE s.n = ?1 AND s.request = ?2 AND c.event = ?3",
    )?;
    for seq in spans::seqs_of_path(connection, id, path)?.into_iter().take_while(|seq| *seq < before) {
        let mut rows = event.query((request, seq, attempt))?;
        let Some(row) = rows.next()? else { continue };
        if row.get_ref(2)?.as_str() == Ok("block_resumed") {
            found.clear();
            continue;
        }
        let (event, text) = (row.get::<_, i64>(0)?, body::lossy(row, 1)?);
        let Some(EventKind::StateChanged { scope, .. }) = body::event_if_readable(connection, "state_changed", &text)?
        else {
            continue;
        };
        if let Some(scope) = states::find(connection, &scope)?
            && !found.contains_key(&scope)
            && is_own.exists((scope, request, event))?
        {
            found.insert(scope, event);
        }
    }
    Ok(found)
}
