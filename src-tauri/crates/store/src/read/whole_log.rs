//! All events of one request, in their order.
//!
//! About half of what a long log costs to read is SQLite's, and half is that of decoding bodies. They have a thread
//! each: one steps through the rows and copies them, the other decodes. What a damaged event becomes is decided by
//! [`events::decoded`] alone.

use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread;

use crate::sql::FromSqlError;
use crate::sql::{Connection, Row, Rows};
use engine::event::{Event, Seq};
use rustc_hash::FxHashMap;

use crate::read::events;
use crate::row::body;
use crate::row::error::Error;

/// How many rows are handed over at a time, and how many times before the reader waits.
const BATCH_ROWS: usize = 1_024;
const BATCHES: usize = 8;

/// Reads all events of a request, oldest first.
pub(crate) fn read(connection: &Connection, id: &str) -> Result<Vec<Event>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, at, path, attempt, kind, body, body_checksum FROM event
         WHERE request = (SELECT n FROM request WHERE id = ?1) ORDER BY seq",
    )?;
    let mut rows = statement.query((id,))?;
    let mut reader = Reader { connection, paths: FxHashMap::default() };
    let first = reader.batch(&mut rows)?;
    if first.is_last() {
        let mut events = Vec::with_capacity(first.rows.len());
        first.decode_into(&mut events)?;
        return Ok(events);
    }
    let (send, received) = mpsc::sync_channel::<Batch>(BATCHES);
    thread::scope(|side| {
        let decoder = thread::Builder::new().name("event decoder".to_owned()).stack_size(body::THREAD_STACK_BYTES);
        let decoder = decoder.spawn_scoped(side, move || {
            let mut events = Vec::new();
            first.decode_into(&mut events)?;
            received.into_iter().try_for_each(|batch| batch.decode_into(&mut events))?;
            Ok(events)
        })?;
        loop {
            let batch = reader.batch(&mut rows)?;
            let is_last = batch.is_last();
            // The decoder is gone only after an error, which it answers with.
            if send.send(batch).is_err() || is_last {
                break;
            }
        }
        drop(send);
        decoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Consecutive rows, with the bytes of all their texts in one allocation.
struct Batch {
    rows: Vec<RawEvent>,
    bytes: Vec<u8>,
}

/// A row of `event`.
enum RawEvent {
    /// Its body refers to payloads, which the connection had to read. Boxed, since it is several times the other.
    Decoded(Box<Event>),
    Undecoded {
        seq: Seq,
        at: i64,
        path: Option<Arc<str>>,
        attempt: u32,
        kind: Range<usize>,
        body: Range<usize>,
        sum: Option<i64>,
    },
}

impl Batch {
    /// Only the last batch of a log is short; it may be empty.
    fn is_last(&self) -> bool {
        self.rows.len() < BATCH_ROWS
    }

    fn decode_into(self, events: &mut Vec<Event>) -> Result<(), Error> {
        for row in self.rows {
            events.push(match row {
                RawEvent::Decoded(event) => *event,
                RawEvent::Undecoded { seq, at, path, attempt, kind, body, sum } => {
                    let (name, text) = (&self.bytes[kind], &self.bytes[body]);
                    Event { seq, at, path, attempt, kind: events::decoded(name, text, sum, body::event_in_place)? }
                }
            });
        }
        Ok(())
    }
}

struct Reader<'c> {
    connection: &'c Connection,
    /// The texts of the paths that were read.
    paths: FxHashMap<i64, Option<Arc<str>>>,
}

impl Reader<'_> {
    fn batch(&mut self, rows: &mut Rows<'_>) -> Result<Batch, Error> {
        let mut batch = Batch { rows: Vec::with_capacity(BATCH_ROWS), bytes: Vec::new() };
        while batch.rows.len() < BATCH_ROWS {
            let Some(row) = rows.next()? else { break };
            let event = self.row(row, &mut batch.bytes)?;
            batch.rows.push(event);
        }
        Ok(batch)
    }

    fn row(&mut self, row: Row<'_>, bytes: &mut Vec<u8>) -> Result<RawEvent, Error> {
        let (name, text) = (row.get_ref(4)?.as_bytes().map_err(damaged)?, row.get_ref(5)?.as_bytes().map_err(damaged)?);
        let path = row.get::<_, Option<i64>>(2)?.map(|path| self.path(path)).transpose()?.flatten();
        let (seq, at, attempt, sum) = (row.get(0)?, row.get(1)?, row.get(3)?, row.get(6)?);
        if std::str::from_utf8(text).is_ok_and(body::may_have_references) {
            let kind = events::decoded(name, text, sum, |kind, text| body::event(self.connection, kind, text))?;
            return Ok(RawEvent::Decoded(Box::new(Event { seq, at, path, attempt, kind })));
        }
        let mut keep = |part: &[u8]| {
            bytes.extend_from_slice(part);
            bytes.len() - part.len()..bytes.len()
        };
        Ok(RawEvent::Undecoded { seq, at, path, attempt, kind: keep(name), body: keep(text), sum })
    }

    /// The text of a path; `None` if it has none.
    fn path(&mut self, n: i64) -> Result<Option<Arc<str>>, Error> {
        if let Some(known) = self.paths.get(&n) {
            return Ok(known.clone());
        }
        let mut statement = self.connection.prepare_cached("SELECT text FROM path WHERE n = ?1")?;
        let mut rows = statement.query((n,))?;
        let path = match rows.next()? {
            Some(row) => row.get_ref(0)?.as_str_or_null().map_err(damaged)?.map(Arc::from),
            None => None,
        };
        self.paths.insert(n, path.clone());
        Ok(path)
    }
}

fn damaged(error: FromSqlError) -> Error {
    Error::Damaged(error.to_string())
}
