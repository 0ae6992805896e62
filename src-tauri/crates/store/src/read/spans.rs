//! Reads the structure of a request: from its pages of spans, and from the events that have no page yet.
//!
//! A long request is read without its bodies. A page that is missing or damaged is replaced by its events.

use std::sync::Arc;

use engine::event::Seq;
use engine::views::spans::{PathNumber, SpanEvent, Spans, fact};
use rusqlite::{Connection, OptionalExtension};

use crate::Store;
use crate::row::body;
use crate::row::error::Error;
use crate::row::span_page::{self, KINDS_WITH_FACTS, Numbers};

impl Store {
    /// Adds to the spans of a request what its events after [`Spans::last`] say. Costs what is new. Does nothing if there
    /// is no such request.
    pub fn extend_spans(&self, request: &str, spans: &mut Spans) -> Result<(), Error> {
        self.read(|connection| extend(connection, request, spans))
    }

    /// The texts of paths, in the order of their numbers.
    pub fn path_texts(&self, numbers: &[PathNumber]) -> Result<Vec<Arc<str>>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT text FROM path WHERE n = ?1")?;
            let text = |number: &PathNumber| Ok(statement.query_row((number,), |row| row.get(0))?);
            numbers.iter().map(text).collect()
        })
    }

    /// The number of a path, if a block ran there.
    pub fn path_number(&self, path: &str) -> Result<Option<PathNumber>, Error> {
        self.read(|connection| span_page::number(connection, path))
    }
}

fn extend(connection: &Connection, request: &str, spans: &mut Spans) -> Result<(), Error> {
    let newest: Option<(i64, Option<Seq>)> = connection
        .prepare_cached("SELECT n, (SELECT max(seq) FROM event WHERE request = n) FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((request, Some(newest))) = newest.filter(|(_, newest)| *newest > Some(spans.last())) else {
        return Ok(());
    };
    let mut numbers = Numbers::default();
    let mut statement = connection.prepare_cached(
        "SELECT first, last, body FROM span_page WHERE request = ?1 AND first >=
             coalesce((SELECT max(first) FROM span_page WHERE request = ?1 AND first <= ?2), 0) ORDER BY first",
    )?;
    let mut rows = statement.query((request, spans.last() + 1))?;
    while let Some(row) = rows.next()? {
        let (first, last): (Seq, Seq) = (row.get(0)?, row.get(1)?);
        if last <= spans.last() {
            continue;
        }
        if first > spans.last() + 1 {
            read_events(connection, &mut numbers, request, first - 1, spans)?;
        }
        let body = row.get_ref(2)?.as_blob().map_err(|error| Error::Damaged(error.to_string()))?;
        let after = spans.last();
        let mut facts = Vec::new();
        match span_page::read(first, body, |event| facts.push(event)) {
            Ok(()) => {
                for fact in facts.into_iter().filter(|fact| fact.seq > after) {
                    spans.push(fact);
                }
            }
            Err(_) => read_events(connection, &mut numbers, request, last, spans)?,
        }
        spans.set_last(last);
    }
    read_events(connection, &mut numbers, request, newest, spans)
}

/// Takes in the events after [`Spans::last`] up to `last`.
fn read_events(
    connection: &Connection,
    numbers: &mut Numbers,
    request: i64,
    last: Seq,
    spans: &mut Spans,
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT seq, at, path, attempt, kind, body FROM event
         WHERE request = ?1 AND seq BETWEEN ?2 AND ?3 AND kind IN ({KINDS_WITH_FACTS}) ORDER BY seq"
    ))?;
    let mut rows = statement.query((request, spans.last() + 1, last))?;
    while let Some(row) = rows.next()? {
        let kind = body::event_if_readable(connection, &body::lossy(row, 4)?, &body::lossy(row, 5)?)?;
        let number = |path: &str| numbers.of(connection, path);
        if let Some(fact) = kind.and_then(|kind| fact(&kind, number)) {
            let path = row.get::<_, Option<i64>>(2)?.and_then(|path| PathNumber::try_from(path).ok());
            spans.push(SpanEvent { seq: row.get(0)?, at: row.get(1)?, path, attempt: row.get(3)?, fact });
        }
    }
    spans.set_last(last);
    Ok(())
}

/// The events of a path in a request, ascending: from the lists of its pages, and of those that have no page yet.
pub(crate) fn seqs_of_path(connection: &Connection, request: &str, path: &str) -> Result<Vec<Seq>, Error> {
    let found: Option<(i64, Option<Seq>)> = connection
        .prepare_cached("SELECT n, unindexed_from FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (Some((request, unindexed_from)), Some(path)) = (found, span_page::number(connection, path)?) else {
        return Ok(Vec::new());
    };
    let mut statement = connection
        .prepare_cached("SELECT first, seqs FROM path_event WHERE request = ?1 AND path = ?2 ORDER BY first")?;
    let mut rows = statement.query((request, path))?;
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(|error| Error::Damaged(error.to_string()))?;
        seqs.extend(span_page::read_seqs(row.get(0)?, bytes)?);
    }
    if let Some(first) = unindexed_from {
        let mut tail = connection
            .prepare_cached("SELECT seq FROM event WHERE request = ?1 AND seq >= ?2 AND path = ?3 ORDER BY seq")?;
        let rows = tail.query_map((request, first, path), |row| row.get(0))?;
        for seq in rows {
            seqs.push(seq?);
        }
    }
    Ok(seqs)
}
