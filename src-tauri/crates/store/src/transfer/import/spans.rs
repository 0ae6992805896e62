//! Copies the structure of requests from the staging database, with the numbers that paths have in this one.

use std::collections::HashMap;

use crate::sql::Connection;
use engine::event::Seq;

use super::rows::path_row;
use super::{BundleCopy, ROWS_AT_ONCE};
use crate::row::error::Error;
use crate::row::span_page::{self, NO_PATH};

impl BundleCopy<'_> {
    /// Copies pages of spans, with the numbers that paths have in this database.
    pub(super) fn copy_span_pages(&self) -> Result<(), Error> {
        let (connection, origin_end) = (&self.staged.connection, &self.staged.origin_end);
        let mut statement = connection.prepare(
            "SELECT request, first, last, body, numbered, has_repeats FROM span_page
             WHERE request > ?1 AND (request, first) > (?2, ?3) ORDER BY request, first LIMIT ?4",
        )?;
        let mut after = (origin_end.request, i64::MAX);
        loop {
            let mut rows = statement.query((origin_end.request, after.0, after.1, ROWS_AT_ONCE))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                after = (row.get(0)?, row.get(1)?);
                let (events, body): ((Seq, Seq), Vec<u8>) = ((row.get(1)?, row.get(2)?), row.get(3)?);
                let mut texts = HashMap::new();
                span_page::renumber(events, &body, |path| {
                    texts.insert(path, path_text(connection, path.into())?);
                    Ok(path.into())
                })?;
                let counts: (i64, bool) = (row.get(4)?, row.get(5)?);
                found.push((self.request_row(after.0)?, events, counts, body, texts));
            }
            drop(rows);
            if found.is_empty() {
                return Ok(());
            }
            self.copy_rows(found, |connection, (request, (first, last), counts, body, texts)| {
                let body = span_page::renumber((first, last), &body, |path| match texts.get(&path) {
                    Some(text) => path_row(connection, text),
                    None => Err(Error::Damaged("a page of spans names a path that is not there".to_owned())),
                })?;
                connection
                    .prepare_cached(
                        "INSERT INTO span_page (request, first, last, numbered, has_repeats, body)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute((request, first, last, counts.0, counts.1, body))?;
                Ok(0)
            })?;
        }
    }

    /// Copies the lists of the events of every path.
    pub(super) fn copy_path_events(&self) -> Result<(), Error> {
        let (connection, origin_end) = (&self.staged.connection, &self.staged.origin_end);
        let mut statement = connection.prepare(
            "SELECT e.request, e.path, e.first, p.text, e.seqs FROM path_event e LEFT JOIN path p ON p.n = e.path
             WHERE e.request > ?1 AND (e.request, e.path, e.first) > (?2, ?3, ?4)
             ORDER BY e.request, e.path, e.first LIMIT ?5",
        )?;
        let mut after = (origin_end.request, i64::MAX, i64::MAX);
        loop {
            let mut rows = statement.query((origin_end.request, after.0, after.1, after.2, ROWS_AT_ONCE))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                after = (row.get(0)?, row.get(1)?, row.get(2)?);
                let (text, seqs): (Option<String>, Vec<u8>) = (row.get(3)?, row.get(4)?);
                found.push((self.request_row(after.0)?, text, after.2, seqs));
            }
            drop(rows);
            if found.is_empty() {
                return Ok(());
            }
            self.copy_rows(found, |connection, (request, text, first, seqs)| {
                let path = text.map_or(Ok(NO_PATH), |text| path_row(connection, &text))?;
                connection
                    .prepare_cached("INSERT INTO path_event (request, path, first, seqs) VALUES (?1, ?2, ?3, ?4)")?
                    .execute((request, path, first, seqs))?;
                Ok(0)
            })?;
        }
    }
}

fn path_text(connection: &Connection, path: i64) -> Result<String, Error> {
    let mut statement = connection.prepare_cached("SELECT text FROM path WHERE n = ?1")?;
    Ok(statement.query_row((path,), |row| row.get(0))?)
}
