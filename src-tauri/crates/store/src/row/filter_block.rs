//! The filters of search and the pages of spans: one of each for a block of consecutive events of a request.
//!
//! A block ends when it has [`MAX_BLOCK_EVENTS`] events or its filter is full, and with the request. The events that
//! no filter covers yet are the unindexed tail of their request, which search reads completely. Blocks are made from
//! committed events, so no append waits for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{EventKind, Seq};
use engine::views::items::follow::last_text;
use engine::views::search::texts;

use crate::row::body;
use crate::row::error::Error;
use crate::row::item_text::{keep_end, text_before};
use crate::row::span_page::{self, Numbers, PageBuilder, StoredPage};
use crate::row::totals::{self, Sums};
use crate::row::trigrams::{TrigramFilter, each_trigram};

/// At most how many events one filter covers, which is how many are read for a false positive.
const MAX_BLOCK_EVENTS: i64 = 64;
/// How many characters of an item's text are kept between its deltas, so that a filter has the trigrams of words that
/// a model sent in several.
const MAX_OVERLAP_LETTERS: usize = 256;

/// Statements that delete what a request's blocks were stored as, a few rows at a time.
pub(crate) const DELETE_SOME: [&str; 3] = [
    "DELETE FROM filter_block WHERE n IN (SELECT n FROM filter_block WHERE request = ?1 LIMIT ?2)",
    "DELETE FROM span_page WHERE request = ?1 AND first IN
         (SELECT first FROM span_page WHERE request = ?1 LIMIT ?2)",
    "DELETE FROM path_event WHERE request = ?1 AND (path, first) IN
         (SELECT path, first FROM path_event WHERE request = ?1 LIMIT ?2)",
];

/// The trigrams of an event's searchable texts, each once.
pub(crate) fn event_trigrams(kind: &EventKind) -> Vec<u16> {
    let mut set = TrigramFilter::default();
    texts(kind, &mut |_, text| each_trigram(text, |trigram| set.add(trigram)));
    set.iter().collect()
}

/// Consecutive events of a request, and the filter of their texts.
#[derive(Debug)]
pub(crate) struct FilterBlock {
    request: i64,
    first: Seq,
    /// Less than `first` if there are no events.
    last: Seq,
    trigrams: Vec<u8>,
    /// What its events say of the structure of their request.
    page: StoredPage,
    /// The totals of its events.
    sums: Sums,
    /// Whether the block has as many events as it may have.
    pub(crate) is_full: bool,
}

/// Reads the events of one request, and makes blocks of them.
#[derive(Debug)]
pub(crate) struct BlockReader {
    request: i64,
    next: Seq,
    /// The end of the text so far of every item in progress, by the `seq` of the item.
    item_texts: HashMap<Seq, String>,
    numbers: Numbers,
}

impl BlockReader {
    /// A reader of a request's unindexed tail, which begins at `first`.
    pub(crate) fn new(request: i64, first: Seq) -> BlockReader {
        BlockReader { request, next: first, item_texts: HashMap::new(), numbers: Numbers::default() }
    }

    /// Reads the next block. If it is not full, it is the end of what is stored, and may be empty.
    pub(crate) fn next_block(&mut self, connection: &Connection) -> Result<FilterBlock, Error> {
        let first = self.next;
        let (mut trigrams, mut sums) = (TrigramFilter::default(), Sums::default());
        let mut page = PageBuilder::new(first);
        let mut statement = connection.prepare_cached(
            "SELECT seq, kind, body, at, path, attempt FROM event WHERE request = ?1 AND seq >= ?2
             ORDER BY seq LIMIT ?3",
        )?;
        let mut rows = statement.query((self.request, first, MAX_BLOCK_EVENTS))?;
        while !trigrams.is_full()
            && let Some(row) = rows.next()?
        {
            let (seq, text) = (row.get(0)?, body::lossy(row, 2)?);
            // An event that cannot be read has no texts.
            let kind = body::event_if_readable(connection, &body::lossy(row, 1)?, &text)?;
            sums += Sums::of_stored(kind.as_ref(), text.len());
            if let Some(kind) = &kind {
                texts(kind, &mut |_, text| each_trigram(text, |trigram| trigrams.add(trigram)));
                self.join_delta(connection, (seq, kind), &mut trigrams)?;
            }
            let number = |path: &str| self.numbers.of(connection, path);
            page.add((seq, row.get(3)?), (row.get(4)?, row.get(5)?), kind.as_ref(), number);
            self.next = seq + 1;
        }
        let is_full = sums.events >= MAX_BLOCK_EVENTS || trigrams.is_full();
        Ok(FilterBlock {
            request: self.request,
            first,
            last: self.next - 1,
            trigrams: trigrams.filter(),
            page: page.finish()?,
            sums,
            is_full,
        })
    }

    /// Adds the trigrams of a delta together with the item's text before it.
    fn join_delta(
        &mut self,
        connection: &Connection,
        (seq, kind): (Seq, &EventKind),
        trigrams: &mut TrigramFilter,
    ) -> Result<(), Error> {
        match kind {
            EventKind::ItemDelta { of, text } => {
                let text_so_far = match self.item_texts.entry(*of) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(none) => {
                        none.insert(text_before(connection, self.request, *of, seq, MAX_OVERLAP_LETTERS)?)
                    }
                };
                text_so_far.push_str(text);
                each_trigram(text_so_far, |trigram| trigrams.add(trigram));
                keep_end(text_so_far, MAX_OVERLAP_LETTERS);
            }
            EventKind::ItemUpdated { of, patch } => {
                if let Some(text) = last_text(patch) {
                    let known = self.item_texts.entry(*of).or_default();
                    text.clone_into(known);
                    keep_end(known, MAX_OVERLAP_LETTERS);
                }
            }
            EventKind::ItemDone { of, .. } => drop(self.item_texts.remove(of)),
            _ => {}
        }
        Ok(())
    }
}

/// The requests with an unindexed tail: where it begins, and whether the request is running.
pub(crate) fn unindexed_tails(connection: &Connection) -> Result<Vec<(i64, Seq, bool)>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT n, unindexed_from, status IN ('queued', 'in_progress') FROM request WHERE unindexed_from IS NOT NULL",
    )?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Stores blocks in the caller's transaction. Those that another process stored first are left out, and one that is
/// not full while its request is running.
pub(crate) fn insert_all(connection: &Connection, blocks: &[FilterBlock]) -> Result<(), Error> {
    for block in blocks {
        let (tail, status, newest): (Option<Seq>, String, Seq) = connection
            .prepare_cached(
                "SELECT unindexed_from, status, (SELECT coalesce(max(seq), 0) FROM event WHERE request = n)
                 FROM request WHERE n = ?1",
            )?
            .query_row((block.request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?
            .unwrap_or_default();
        let is_running = matches!(status.as_str(), "queued" | "in_progress");
        let is_end = !is_running && block.last == newest;
        if tail == Some(block.first) && (block.is_full || is_end) {
            insert(connection, block, is_end)?;
        }
    }
    Ok(())
}

fn insert(connection: &Connection, block: &FilterBlock, is_end: bool) -> Result<(), Error> {
    if block.sums.events > 0 {
        connection
            .prepare_cached("INSERT INTO filter_block (request, first, last, trigram_filter) VALUES (?1, ?2, ?3, ?4)")?
            .run((block.request, block.first, block.last, &block.trigrams))?;
        span_page::insert(connection, block.request, (block.first, block.last), &block.page)?;
        totals::add_indexed(connection, block.sums)?;
    }
    set_unindexed_from(connection, block.request, (!is_end).then_some(block.last + 1))
}

/// Indexes all tails in the caller's transaction, those of requests that did not end too.
pub(crate) fn index_all_tails(connection: &Connection) -> Result<(), Error> {
    for (request, first, _) in unindexed_tails(connection)? {
        let mut reader = BlockReader::new(request, first);
        loop {
            let block = reader.next_block(connection)?;
            insert(connection, &block, !block.is_full)?;
            if !block.is_full {
                break;
            }
        }
    }
    Ok(())
}

/// Sets where the unindexed tail of a request begins; `None` if all of its events are covered.
pub(crate) fn set_unindexed_from(connection: &Connection, request: i64, tail: Option<Seq>) -> Result<(), Error> {
    connection.prepare_cached("UPDATE request SET unindexed_from = ?2 WHERE n = ?1")?.run((request, tail))?;
    Ok(())
}

/// The filters of a request: the first and the last event that each covers.
pub(crate) fn filters(connection: &Connection, request: i64) -> Result<Vec<(Seq, Seq, Vec<u8>)>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT first, last, trigram_filter FROM filter_block WHERE request = ?1 ORDER BY first")?;
    let rows = statement.query_map((request,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
