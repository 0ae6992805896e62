//! Running totals of all events.
//!
//! The row of `total` counts the events that filter blocks cover. It is updated when a block is written, so most steps
//! do not update it. Events in unindexed tails are few, and are added when the totals are read. Bytes in `payload` are
//! added when they are stored.

use std::ops::AddAssign;

use crate::sql::Connection;
use engine::event::EventKind;

use crate::row::error::Error;
use crate::row::{body, measure};

/// Totals of some events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) events: i64,
    /// Items added, transient ones left out.
    pub(crate) items: i64,
    /// JSON bytes of the flow's own values.
    pub(crate) payload_bytes: i64,
    /// The same with large values counted only once. For one event, the bytes of its body; for all events, also those
    /// of each large value.
    pub(crate) unique_bytes: i64,
}

impl Sums {
    /// The sums of one event: `value_bytes` of values, and a body of `body_bytes` bytes.
    pub(crate) fn of(kind: &EventKind, value_bytes: usize, body_bytes: usize) -> Sums {
        Sums {
            events: 1,
            items: items(kind),
            payload_bytes: value_bytes as i64,
            unique_bytes: value_bytes.min(body_bytes) as i64,
        }
    }

    /// The sums of a stored event. An unreadable event only counts as an event.
    pub(crate) fn of_stored(kind: Option<&EventKind>, body_bytes: usize) -> Sums {
        let known = kind.map(|kind| Sums::of(kind, measure::value_bytes(kind), body_bytes));
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

/// Adds events that a new filter block covers.
pub(crate) fn add_indexed(connection: &Connection, sums: Sums) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE total SET indexed_events = indexed_events + ?1, items = items + ?2,
             payload_bytes = payload_bytes + ?3, unique_payload_bytes = unique_payload_bytes + ?4",
        )?
        .run((sums.events, sums.items, sums.payload_bytes, sums.unique_bytes))?;
    Ok(())
}

/// Adds bytes of JSON that were stored in `payload`.
pub(crate) fn add_payload_bytes(connection: &Connection, bytes: i64) -> Result<(), Error> {
    if bytes != 0 {
        connection
            .prepare_cached("UPDATE total SET unique_payload_bytes = unique_payload_bytes + ?1")?
            .run((bytes,))?;
    }
    Ok(())
}

/// The totals of all events, unindexed tails included.
pub(crate) fn read(connection: &Connection) -> Result<Sums, Error> {
    let mut totals = read_row(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT e.kind, e.body FROM request r JOIN event e ON e.request = r.n AND e.seq >= r.unindexed_from
         WHERE r.unindexed_from IS NOT NULL",
    )?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let text = body::lossy(row, 1)?;
        let kind = body::event_if_readable(connection, &body::lossy(row, 0)?, &text)?;
        totals += Sums::of_stored(kind.as_ref(), text.len());
    }
    Ok(totals)
}

/// The totals in the row, without the unindexed tails.
pub(crate) fn read_row(connection: &Connection) -> Result<Sums, Error> {
    let sql = "SELECT indexed_events, items, payload_bytes, unique_payload_bytes FROM total";
    Ok(connection.prepare_cached(sql)?.query_row((), |row| {
        Ok(Sums { events: row.get(0)?, items: row.get(1)?, payload_bytes: row.get(2)?, unique_bytes: row.get(3)? })
    })?)
}

/// Computes the row again from all events and payloads.
pub(crate) fn recount(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare(
        "SELECT e.kind, e.body FROM request r JOIN event e ON e.request = r.n
         WHERE r.unindexed_from IS NULL OR e.seq < r.unindexed_from",
    )?;
    let mut rows = statement.query(())?;
    let mut totals = Sums::default();
    while let Some(row) = rows.next()? {
        let text = body::lossy(row, 1)?;
        let kind = body::event_if_readable(connection, &body::lossy(row, 0)?, &text)?;
        totals += Sums::of_stored(kind.as_ref(), text.len());
    }
    let sql = "SELECT coalesce(sum(bytes), 0) FROM payload";
    totals.unique_bytes += connection.query_row(sql, (), |row| row.get::<_, i64>(0))?;
    write_row(connection, totals)
}

/// Sets the row to these totals.
pub(crate) fn write_row(connection: &Connection, row: Sums) -> Result<(), Error> {
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
