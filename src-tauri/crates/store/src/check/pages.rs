//! Checks the pages of spans of a request, and the lists of the events of its paths.

use std::collections::HashMap;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{EventKind, Seq};

use super::Checked;
use crate::row::error::Error;
use crate::row::span_page::{Numbering, Numbers, PageBuilder};

/// The last event of a page, the counts of its request up to there, and its bytes.
type Row = (Seq, Numbering, Vec<u8>);

/// The stored pages, and the page that is derived from the events so far.
pub(super) struct PagesCheck {
    request: i64,
    /// The stored pages by their first events.
    stored: HashMap<Seq, Row>,
    /// The first and the last event of the current page, and the page.
    page: Option<(Seq, Seq, PageBuilder)>,
    /// Whether an event of it cannot be read, which is already reported.
    is_damaged: bool,
    /// The counts of the events so far; `None` after an event that cannot be read.
    numbering: Option<Numbering>,
    /// The expected number of lists of the events of paths.
    lists: u64,
    numbers: Numbers,
}

impl PagesCheck {
    pub(super) fn new(connection: &Connection, request: i64) -> Result<PagesCheck, Error> {
        let mut statement = connection
            .prepare_cached("SELECT first, last, numbered, has_repeats, body FROM span_page WHERE request = ?1")?;
        let rows = statement.query_map((request,), |row| {
            let numbering = Numbering { numbered: row.get(2)?, has_repeats: row.get(3)? };
            Ok((row.get(0)?, (row.get(1)?, numbering, row.get(4)?)))
        })?;
        let stored = rows.collect::<Result<_, _>>()?;
        Ok(PagesCheck {
            request,
            stored,
            page: None,
            is_damaged: false,
            numbering: Some(Numbering::default()),
            lists: 0,
            numbers: Numbers::default(),
        })
    }

    /// Adds an event (`kind` is `None` if it cannot be read), and compares the page that it ends.
    pub(super) fn add(
        &mut self,
        found: &mut Checked,
        (connection, id): (&Connection, &str),
        (seq, at): (Seq, i64),
        place: (Option<i64>, u32),
        kind: Option<&EventKind>,
    ) -> Result<(), Error> {
        if let Some((last, ..)) = self.stored.get(&seq) {
            (self.page, self.is_damaged) = (Some((seq, *last, PageBuilder::new(seq))), false);
        }
        let Some((first, last, page)) = &mut self.page else { return Ok(()) };
        self.is_damaged |= kind.is_none();
        page.add((seq, at), place, kind, |path| self.numbers.of(connection, path));
        if seq < *last {
            return Ok(());
        }
        let (first, derived) = (*first, page.finish()?);
        self.numbering = self.numbering.filter(|_| !self.is_damaged).map(|before| Numbering {
            numbered: before.numbered + derived.numbered,
            has_repeats: before.has_repeats || derived.has_repeats,
        });
        let is_right = |(_, numbering, body): &Row| {
            derived.is(body) && self.numbering.is_none_or(|expected| *numbering == expected)
        };
        let is_right = self.is_damaged || self.stored.get(&first).is_some_and(is_right);
        // A newer version may store more of its events.
        if !is_right && found.unknown.is_empty() {
            found.add(Some(id), Some(first), format!("the spans of the events {first} to {seq} are not what they say"));
        }
        let mut list =
            connection.prepare_cached("SELECT seqs FROM path_event WHERE request = ?1 AND path = ?2 AND first = ?3")?;
        for (path, seqs) in derived.seqs_of_paths {
            self.lists += 1;
            let stored: Option<Vec<u8>> = list.query_row((self.request, path, first), |row| row.get(0)).optional()?;
            if stored.as_ref() != Some(&seqs) {
                let what = format!("the list of a path's events among {first} to {seq} is not what they say");
                found.add(Some(id), Some(first), what);
            }
        }
        self.page = None;
        Ok(())
    }

    /// Checks that each filter has a page, and that there are no superfluous lists.
    pub(super) fn compare(
        &self,
        found: &mut Checked,
        (connection, id): (&Connection, &str),
        filters: &[(Seq, Seq, Vec<u8>)],
    ) -> Result<(), Error> {
        let is_there = |first: &Seq, last: &Seq| self.stored.get(first).is_some_and(|(end, ..)| end == last);
        for (first, last, _) in filters.iter().filter(|(first, last, _)| !is_there(first, last)) {
            found.add(Some(id), Some(*first), format!("the spans of the events {first} to {last} are missing"));
        }
        if self.stored.len() > filters.len() {
            let more = self.stored.len() - filters.len();
            found.add(Some(id), None, format!("it has {more} more pages of spans than search filters"));
        }
        let lists: u64 = connection
            .prepare_cached("SELECT count(*) FROM path_event WHERE request = ?1")?
            .query_row((self.request,), |row| row.get(0))?;
        if lists > self.lists {
            let more = lists - self.lists;
            found.add(Some(id), None, format!("it has {more} lists of events of paths too many"));
        }
        Ok(())
    }
}
