//! Reads what must be known to replace the log of a foreign request, and removes what was replaced.

use crate::sql::{Connection, OptionalExtension};

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease};
use futures_channel::oneshot;

use crate::Store;
use crate::row::body;
use crate::row::error::Error;
use crate::row::totals::Sums;
use crate::transfer::removal;
use crate::write::append_batch::QueuedAppend;
use crate::write::replacement::Replacement;

impl Store {
    /// What must be known to replace the log of a request; `None` if there is no such request. It costs a read of all
    /// its events.
    pub fn replacement(&self, request: &str) -> Result<Option<Replacement>, Error> {
        self.read(|connection| plan(connection, request))
    }

    /// Appends the first events of a log that takes the place of another one. [`AppendError::Exists`] if that has
    /// changed since it was read.
    pub fn replace(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        old: Replacement,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        let mut append = QueuedAppend::new(request, lease, events, AppendMode::Committed, answer);
        append.replaces = Some(old);
        self.writer.append(append);
        receiver
    }

    /// Removes the rows of logs that were replaced.
    pub fn remove_replaced(&self) -> Result<(), Error> {
        removal::run_queue(&self.sliced_work()?)
    }
}

fn plan(connection: &Connection, request: &str) -> Result<Option<Replacement>, Error> {
    let sql = "SELECT n, unindexed_from FROM request WHERE id = ?1";
    let read = |row: crate::sql::Row<'_>| {
        let (indexed, unindexed, items, last, newest) = (Sums::default(), Vec::new(), 0, 0, 0);
        let plan = Replacement { n: row.get(0)?, last, indexed, unindexed, items, newest };
        Ok((plan, row.get::<_, Option<i64>>(1)?))
    };
    let Some((mut plan, unindexed_from)) = connection.prepare_cached(sql)?.query_row((request,), read).optional()?
    else {
        return Ok(None);
    };
    let mut statement =
        connection.prepare_cached("SELECT kind, body, seq, id FROM event WHERE request = ?1 ORDER BY seq")?;
    let mut rows = statement.query((plan.n,))?;
    while let Some(row) = rows.next()? {
        let text = body::lossy(row, 1)?;
        let kind = body::event_if_readable(connection, &body::lossy(row, 0)?, &text)?;
        let sums = Sums::of_stored(kind.as_ref(), text.len());
        (plan.last, plan.newest) = (row.get(2)?, plan.newest.max(row.get(3)?));
        plan.items += sums.items;
        if unindexed_from.is_none_or(|from| (plan.last as i64) < from) {
            plan.indexed += sums;
        } else {
            plan.unindexed.push((plan.last, sums));
        }
    }
    Ok(Some(plan))
}
