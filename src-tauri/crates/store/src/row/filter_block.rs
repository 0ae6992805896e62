//! Writes the filters of search: one for each block of consecutive events of a request.
//!
//! A block ends when it has [`MAX_BLOCK_EVENTS`] events or its filter is full, and with the request. The events that
//! no filter covers yet are the unindexed tail of their request, which search reads completely; it is at most a block.

use std::collections::HashMap;

use engine::event::{EventKind, Seq};
use engine::views::search::texts;
use rusqlite::Connection;

use crate::row::body;
use crate::row::error::Error;
use crate::row::totals::{self, Sums};
use crate::row::trigrams::{TrigramFilter, each_trigram};

/// At most how many events one filter covers, which is how many are read for a false positive.
const MAX_BLOCK_EVENTS: i64 = 64;
/// How many characters of an item's text are kept between its deltas, so that a filter has the trigrams of words that
/// a model sent in several.
const MAX_OVERLAP_LETTERS: usize = 256;

/// The trigrams of an event's searchable texts. Of long texts each once, of short ones perhaps several times.
pub(crate) fn event_trigrams(kind: &EventKind) -> Vec<u16> {
    let mut found = Vec::new();
    texts(kind, &mut |_, text| each_trigram(text, |trigram| found.push(trigram)));
    // Large values repeat many trigrams.
    if found.len() > 4_096 {
        let mut set = TrigramFilter::default();
        found.drain(..).for_each(|trigram| set.add(trigram));
        found.extend(set.iter());
    }
    found
}

/// The events of a request that no filter covers yet.
#[derive(Debug)]
pub(crate) struct UnindexedTail {
    first: Seq,
    trigrams: TrigramFilter,
    /// The totals of its events.
    sums: Sums,
    /// The end of the text so far of every item in progress, by the `seq` of the item.
    item_texts: HashMap<Seq, String>,
    /// Whether `unindexed_from` in the request's row is set.
    is_row_current: bool,
}

impl UnindexedTail {
    /// The tail of a new request.
    pub(crate) fn new() -> UnindexedTail {
        UnindexedTail::from(1, true)
    }

    fn from(first: Seq, is_row_current: bool) -> UnindexedTail {
        UnindexedTail {
            first,
            trigrams: TrigramFilter::default(),
            sums: Sums::default(),
            item_texts: HashMap::new(),
            is_row_current,
        }
    }

    /// Reads the tail of a request whose last event is `last`.
    pub(crate) fn load(connection: &Connection, request: i64, last: Seq) -> Result<UnindexedTail, Error> {
        let first: Option<Seq> = connection
            .prepare_cached("SELECT unindexed_from FROM request WHERE n = ?1")?
            .query_row((request,), |row| row.get(0))?;
        let Some(first) = first else { return Ok(UnindexedTail::from(last + 1, false)) };
        let mut tail = UnindexedTail::from(first, true);
        let mut statement = connection
            .prepare_cached("SELECT seq, kind, body FROM event WHERE request = ?1 AND seq >= ?2 ORDER BY seq")?;
        let mut rows = statement.query((request, first))?;
        while let Some(row) = rows.next()? {
            let text = body::lossy(row, 2)?;
            let kind = body::event_if_readable(connection, &body::lossy(row, 1)?, &text)?;
            let sums = Sums::of_stored(kind.as_ref(), text.len());
            let trigrams = kind.as_ref().map(event_trigrams).unwrap_or_default();
            tail.add(connection, request, row.get(0)?, kind.as_ref(), &trigrams, sums)?;
        }
        Ok(tail)
    }

    /// Adds the next event. `kind` is none if the event cannot be read; then it has no texts.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        request: i64,
        seq: Seq,
        kind: Option<&EventKind>,
        trigrams: &[u16],
        sums: Sums,
    ) -> Result<(), Error> {
        if !self.is_row_current {
            set_unindexed_from(connection, request, Some(self.first))?;
            self.is_row_current = true;
        }
        self.sums += sums;
        trigrams.iter().for_each(|trigram| self.trigrams.add(*trigram));
        kind.into_iter().for_each(|kind| self.join_delta(kind));
        if self.sums.events >= MAX_BLOCK_EVENTS || self.trigrams.is_full() {
            self.write_block(connection, request, seq)?;
            set_unindexed_from(connection, request, Some(self.first))?;
        }
        Ok(())
    }

    /// Writes a filter for what is left, when the request ends or is suspended.
    pub(crate) fn close(&mut self, connection: &Connection, request: i64, last: Seq) -> Result<(), Error> {
        if self.sums.events > 0 {
            self.write_block(connection, request, last)?;
        }
        self.is_row_current = false;
        set_unindexed_from(connection, request, None)
    }

    fn write_block(&mut self, connection: &Connection, request: i64, last: Seq) -> Result<(), Error> {
        connection
            .prepare_cached("INSERT INTO filter_block (request, first, last, trigrams) VALUES (?1, ?2, ?3, ?4)")?
            .execute((request, self.first, last, self.trigrams.filter()))?;
        totals::add_indexed(connection, self.sums)?;
        let item_texts = std::mem::take(&mut self.item_texts);
        *self = UnindexedTail { item_texts, ..UnindexedTail::from(last + 1, true) };
        Ok(())
    }

    /// Adds the trigrams of a delta together with the item's text before it.
    fn join_delta(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ItemDelta { of, text } => {
                let text_so_far = self.item_texts.entry(*of).or_default();
                text_so_far.push_str(text);
                each_trigram(text_so_far, |trigram| self.trigrams.add(trigram));
                if let Some((cut, _)) = text_so_far.char_indices().rev().nth(MAX_OVERLAP_LETTERS - 1) {
                    text_so_far.drain(..cut);
                }
            }
            EventKind::ItemDone { of, .. } => drop(self.item_texts.remove(of)),
            _ => {}
        }
    }
}

/// Writes filters for all tails, for a migration. Before format 5 totals counted tails too, so the totals stay the
/// same.
pub(crate) fn index_all_tails(connection: &Connection) -> Result<(), Error> {
    let totals = totals::read_row(connection)?;
    let mut requests = connection.prepare(
        "SELECT n, (SELECT coalesce(max(seq), 0) FROM event WHERE request = n)
         FROM request WHERE unindexed_from IS NOT NULL",
    )?;
    let tails = requests.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()?;
    for (request, last) in tails {
        UnindexedTail::load(connection, request, last)?.close(connection, request, last)?;
    }
    totals::write_row(connection, totals)
}

fn set_unindexed_from(connection: &Connection, request: i64, tail: Option<Seq>) -> Result<(), Error> {
    connection.prepare_cached("UPDATE request SET unindexed_from = ?2 WHERE n = ?1")?.execute((request, tail))?;
    Ok(())
}

/// The filters of a request: the first and the last event that each covers.
pub(crate) fn filters(connection: &Connection, request: i64) -> Result<Vec<(Seq, Seq, Vec<u8>)>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT first, last, trigrams FROM filter_block WHERE request = ?1 ORDER BY first")?;
    let rows = statement.query_map((request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
