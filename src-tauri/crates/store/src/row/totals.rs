//! What all events come to, without counting them: running totals that a step does not pay for.
//!
//! The one row counts the events that search's filters cover. It is written when they are covered, once in
//! many steps and at the end of a request; the tails are short, and are counted when somebody asks. What
//! large values and keyframes keep is counted where it is stored.

use std::ops::AddAssign;

use engine::event::EventKind;
use rusqlite::Connection;

use crate::row::error::Error;
use crate::row::{body, measure};

/// What some events come to, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) events: i64,
    /// Items added, transient ones left out.
    pub(crate) items: i64,
    /// JSON bytes of the flow's own values.
    pub(crate) payload_bytes: i64,
    /// The same as stored: what stands in the events' lines, and, of all events, large values once each.
    pub(crate) unique_bytes: i64,
}

impl Sums {
    /// Of one event: its values weigh so many bytes, its line is so long.
    pub(crate) fn of(kind: &EventKind, value_bytes: usize, line: usize) -> Sums {
        Sums {
            events: 1,
            items: items(kind),
            payload_bytes: value_bytes as i64,
            unique_bytes: value_bytes.min(line) as i64,
        }
    }

    /// Of an event that was read; one that cannot be read is there, if nothing else.
    pub(crate) fn read(kind: Option<&EventKind>, line: usize) -> Sums {
        let known = kind.map(|kind| Sums::of(kind, measure::value_bytes(kind), line));
        known.unwrap_or(Sums { events: 1, ..Sums::default() })
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.events += other.events;
        self.items += other.items;
        self.payload_bytes += other.payload_bytes;
        self.unique_bytes += other.unique_bytes;
    }
}

/// Counts events that a filter covers from now on.
pub(crate) fn cover(connection: &Connection, sums: Sums) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE total SET indexed_events = indexed_events + ?1, items = items + ?2,
             payload_bytes = payload_bytes + ?3, unique_payload_bytes = unique_payload_bytes + ?4",
        )?
        .execute((sums.events, sums.items, sums.payload_bytes, sums.unique_bytes))?;
    Ok(())
}

/// Counts bytes of JSON that were stored for large values.
pub(crate) fn store(connection: &Connection, bytes: i64) -> Result<(), Error> {
    if bytes != 0 {
        connection
            .prepare_cached("UPDATE total SET unique_payload_bytes = unique_payload_bytes + ?1")?
            .execute((bytes,))?;
    }
    Ok(())
}

/// The totals of all events, those of the tails included.
pub(crate) fn read(connection: &Connection) -> Result<Sums, Error> {
    let mut totals = row(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT e.kind, e.body FROM request r JOIN event e ON e.request = r.n AND e.seq >= r.unindexed_from
         WHERE r.unindexed_from IS NOT NULL",
    )?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let line = body::lossy(row, 1)?;
        let kind = body::readable(connection, &body::lossy(row, 0)?, &line)?;
        totals += Sums::read(kind.as_ref(), line.len());
    }
    Ok(totals)
}

/// The row as it stands.
pub(crate) fn row(connection: &Connection) -> Result<Sums, Error> {
    let sql = "SELECT indexed_events, items, payload_bytes, unique_payload_bytes FROM total";
    Ok(connection.prepare_cached(sql)?.query_row((), |row| {
        Ok(Sums { events: row.get(0)?, items: row.get(1)?, payload_bytes: row.get(2)?, unique_bytes: row.get(3)? })
    })?)
}

/// Makes the row anew from the events.
pub(crate) fn count_again(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare(
        "SELECT e.kind, e.body FROM request r JOIN event e ON e.request = r.n
         WHERE r.unindexed_from IS NULL OR e.seq < r.unindexed_from",
    )?;
    let mut rows = statement.query(())?;
    let mut totals = Sums::default();
    while let Some(row) = rows.next()? {
        let line = body::lossy(row, 1)?;
        let kind = body::readable(connection, &body::lossy(row, 0)?, &line)?;
        totals += Sums::read(kind.as_ref(), line.len());
    }
    let sql = "SELECT coalesce(sum(bytes), 0) FROM payload";
    totals.unique_bytes += connection.query_row(sql, (), |row| row.get::<_, i64>(0))?;
    set(connection, totals)
}

/// Puts the row at these totals.
pub(crate) fn set(connection: &Connection, row: Sums) -> Result<(), Error> {
    let sql = "UPDATE total SET indexed_events = ?1, items = ?2, payload_bytes = ?3, unique_payload_bytes = ?4";
    connection.execute(sql, (row.events, row.items, row.payload_bytes, row.unique_bytes))?;
    Ok(())
}

/// How many items an event adds to its session.
pub(crate) fn items(kind: &EventKind) -> i64 {
    match kind {
        EventKind::ItemAdded { item } => i64::from(!item.transient),
        _ => 0,
    }
}
