//! A log that takes the place of another one of the same request: of a foreign request to which spans came that belong
//! before its end.
//!
//! The old log is queued for removal, as that of a deleted session is, in the transaction that writes the first events
//! of the new one. What people added to the request stays. Foreign requests wrote no state, so no scope is concerned.

use crate::sql::{Connection, OptionalExtension};
use engine::event::Seq;

use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::write::append_batch::AppendBatch;
use crate::write::removal_queue;
use crate::write::writer_cache::CachedRequest;

/// The log to be replaced, as it was read in a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    pub(crate) n: i64,
    /// The newest event.
    pub(crate) last: Seq,
    /// What its indexed events add to the totals.
    pub(crate) indexed: Sums,
    /// The events that were not indexed when it was read, and what each adds once it is.
    pub(crate) unindexed: Vec<(Seq, Sums)>,
    /// How many items its events add to its session.
    pub(crate) items: i64,
    /// The highest id of an event of it.
    pub(crate) newest: i64,
}

impl Replacement {
    /// The `seq` of the newest event.
    pub fn last(&self) -> Seq {
        self.last
    }
}

/// Takes the log that a batch replaces out of the lists, if there is one. Returns false if it is not the one that was
/// read: then nothing was changed.
pub(crate) fn make_room(
    connection: &Connection,
    batch: &AppendBatch,
    known: &mut Option<CachedRequest>,
) -> Result<bool, Error> {
    let Some(old) = batch.replaces.as_ref().filter(|_| known.is_some()) else { return Ok(true) };
    *known = None;
    detach(connection, old, &batch.request)
}

fn detach(connection: &Connection, old: &Replacement, request: &str) -> Result<bool, Error> {
    let sql = "SELECT n, unindexed_from, session, (SELECT max(e.seq) FROM event e WHERE e.request = r.n)
         FROM request r WHERE id = ?1 AND emitter IS NOT NULL";
    let found: Option<(i64, Option<i64>, i64, Seq)> = connection
        .prepare_cached(sql)?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((n, unindexed_from, session, last)) = found else { return Ok(false) };
    if (n, last) != (old.n, old.last) {
        return Ok(false);
    }
    // The log may have been indexed since it was read: that is no change.
    let mut indexed = old.indexed;
    let is_indexed = |seq: Seq| unindexed_from.is_none_or(|from| (seq as i64) < from);
    old.unindexed.iter().filter(|(seq, _)| is_indexed(*seq)).for_each(|(_, sums)| indexed += *sums);
    removal_queue::queue(connection, "request", n, Some(request))?;
    connection.prepare_cached("DELETE FROM request WHERE n = ?1")?.execute((n,))?;
    connection
        .prepare_cached(
            "UPDATE session SET requests = requests - 1, items = items - ?2,
             last_request = (SELECT max(n) FROM request WHERE session = ?1) WHERE n = ?1",
        )?
        .execute((session, old.items))?;
    // An empty session goes with its request; another one begins with the first that is left.
    let sql = "DELETE FROM session WHERE n = ?1 AND requests = 0";
    if connection.prepare_cached(sql)?.execute((session,))? > 0 {
        removal_queue::queue(connection, "session", session, None)?;
    } else {
        connection
            .prepare_cached(
                "UPDATE session SET (flow, user, project, created_at) =
                     (SELECT flow, user, project, started_at FROM request WHERE session = ?1 ORDER BY n LIMIT 1)
                 WHERE n = ?1",
            )?
            .execute((session,))?;
    }
    connection
        .prepare_cached(
            "UPDATE total SET indexed_events = indexed_events - ?1, items = items - ?2,
             payload_bytes = payload_bytes - ?3, unique_payload_bytes = max(0, unique_payload_bytes - ?4),
             id_floor = max(id_floor, ?5)",
        )?
        .execute((indexed.events, indexed.items, indexed.payload_bytes, indexed.unique_bytes, old.newest))?;
    Ok(true)
}

/// Gives the new log what people added to the old one.
pub(crate) fn attach(connection: &Connection, batch: &AppendBatch, new: i64) -> Result<(), Error> {
    let Some(old) = &batch.replaces else { return Ok(()) };
    for sql in [
        "UPDATE annotation SET request = ?2 WHERE request = ?1",
        "UPDATE tag SET request = ?2 WHERE request = ?1",
        "UPDATE request SET title = nullif((SELECT value FROM annotation WHERE request = ?2 AND kind = 'title'
             ORDER BY n DESC LIMIT 1), '') WHERE n = ?2 AND ?1 <> ?2",
    ] {
        connection.prepare_cached(sql)?.execute((old.n, new))?;
    }
    Ok(())
}
