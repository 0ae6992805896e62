//! The writer's side of search: what the events of a request hold, a filter for every run of them.
//!
//! A run ends when it is long or its filter is full, and with the request. Events that no filter covers
//! yet are the tail of their request, which search reads whole; it is never long.

use std::collections::HashMap;

use engine::event::{EventKind, Seq};
use engine::views::search::texts;
use rusqlite::Connection;

use crate::row::body;
use crate::row::error::Error;
use crate::row::totals::{self, Sums};
use crate::row::trigrams::{TrigramFilter, each_trigram};

/// Events that one filter covers, at the most: what a wrong guess costs.
const RUN: i64 = 64;
/// How much of an item's text is remembered, in letters, so that words which a model spoke in pieces are
/// found whole.
const MAX_OVERLAP_LETTERS: usize = 256;

/// The numbers of an event's texts, each once.
pub(crate) fn of_event(kind: &EventKind) -> Vec<u16> {
    let mut found = Vec::new();
    texts(kind, &mut |_, text| each_trigram(text, |gram| found.push(gram)));
    // Large values repeat themselves.
    if found.len() > 4_096 {
        let mut set = TrigramFilter::default();
        found.drain(..).for_each(|gram| set.add(gram));
        found.extend(set.iter());
    }
    found
}

/// The tail of a request.
#[derive(Debug)]
pub(crate) struct UnindexedTail {
    first: Seq,
    trigrams: TrigramFilter,
    /// What its events come to.
    sums: Sums,
    /// The end of what was said of every item in progress.
    spoken: HashMap<Seq, String>,
    /// Whether the request's row tells of a tail.
    is_told: bool,
}

impl UnindexedTail {
    /// Of a request that begins.
    pub(crate) fn new() -> UnindexedTail {
        UnindexedTail::from(1, true)
    }

    fn from(first: Seq, is_told: bool) -> UnindexedTail {
        UnindexedTail {
            first,
            trigrams: TrigramFilter::default(),
            sums: Sums::default(),
            spoken: HashMap::new(),
            is_told,
        }
    }

    /// Of a request whose last event is `last`, read again.
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
            let line = body::lossy(row, 2)?;
            let kind = body::readable(connection, &body::lossy(row, 1)?, &line)?;
            let sums = Sums::read(kind.as_ref(), line.len());
            let trigrams = kind.as_ref().map(of_event).unwrap_or_default();
            tail.follow(connection, request, row.get(0)?, kind.as_ref(), &trigrams, sums)?;
        }
        Ok(tail)
    }

    /// Takes the next event; one that cannot be read has no kind, and nothing to be found by.
    pub(crate) fn follow(
        &mut self,
        connection: &Connection,
        request: i64,
        seq: Seq,
        kind: Option<&EventKind>,
        trigrams: &[u16],
        sums: Sums,
    ) -> Result<(), Error> {
        if !self.is_told {
            tell(connection, request, Some(self.first))?;
            self.is_told = true;
        }
        self.sums += sums;
        trigrams.iter().for_each(|gram| self.trigrams.add(*gram));
        kind.into_iter().for_each(|kind| self.hear(kind));
        if self.sums.events >= RUN || self.trigrams.is_full() {
            self.cover(connection, request, seq)?;
            tell(connection, request, Some(self.first))?;
        }
        Ok(())
    }

    /// Covers what is left when a request writes no more for now.
    pub(crate) fn end(&mut self, connection: &Connection, request: i64, last: Seq) -> Result<(), Error> {
        if self.sums.events > 0 {
            self.cover(connection, request, last)?;
        }
        self.is_told = false;
        tell(connection, request, None)
    }

    fn cover(&mut self, connection: &Connection, request: i64, last: Seq) -> Result<(), Error> {
        connection
            .prepare_cached("INSERT INTO filter_block (request, first, last, trigrams) VALUES (?1, ?2, ?3, ?4)")?
            .execute((request, self.first, last, self.trigrams.filter()))?;
        totals::cover(connection, self.sums)?;
        let spoken = std::mem::take(&mut self.spoken);
        *self = UnindexedTail { spoken, ..UnindexedTail::from(last + 1, true) };
        Ok(())
    }

    /// Joins a piece of an item's text with what was said before it.
    fn hear(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ItemDelta { of, text } => {
                let spoken = self.spoken.entry(*of).or_default();
                spoken.push_str(text);
                each_trigram(spoken, |gram| self.trigrams.add(gram));
                if let Some((cut, _)) = spoken.char_indices().rev().nth(MAX_OVERLAP_LETTERS - 1) {
                    spoken.drain(..cut);
                }
            }
            EventKind::ItemDone { of, .. } => drop(self.spoken.remove(of)),
            _ => {}
        }
    }
}

/// Covers every tail there is, as the format wants it in which totals leave tails out: they had them in.
pub(crate) fn cover_all(connection: &Connection) -> Result<(), Error> {
    let totals = totals::row(connection)?;
    let mut requests = connection.prepare(
        "SELECT n, (SELECT coalesce(max(seq), 0) FROM event WHERE request = n)
         FROM request WHERE unindexed_from IS NOT NULL",
    )?;
    let tails = requests.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()?;
    for (request, last) in tails {
        UnindexedTail::load(connection, request, last)?.end(connection, request, last)?;
    }
    totals::set(connection, totals)
}

fn tell(connection: &Connection, request: i64, tail: Option<Seq>) -> Result<(), Error> {
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
