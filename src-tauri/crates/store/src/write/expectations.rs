//! What requests are expected to do by code that differs from the code that ran: accepted by a person, and kept beside
//! the log, which stays as it is.
//!
//! Must not know what an expectation says: it is JSON of whoever compares.

use std::collections::HashMap;

use crate::sql::{Connection, OptionalExtension};
use serde_json::Value;

use crate::Store;
use crate::row::error::Error;

/// Which code a request ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanCode {
    /// The hash of the bundle that it began with.
    pub hash: String,
    /// Whether it ran that code alone: it is no fork, and nobody else took it over.
    pub is_whole: bool,
}

impl Store {
    /// What a request is expected to do, if that is not what its events say.
    pub fn expectation(&self, request: &str) -> Result<Option<Value>, Error> {
        self.read(|connection| {
            let sql = "SELECT x.body FROM request r JOIN expectation x ON x.request = r.n WHERE r.id = ?1";
            let text: Option<String> =
                connection.prepare_cached(sql)?.query_row((request,), |row| row.get(0)).optional()?;
            text.map(|text| Ok(engine::json::parse(&text)?)).transpose()
        })
    }

    /// Stores what a request is expected to do from now on; `None`: what its events say. Returns whether there is such
    /// a request.
    pub fn expect(&self, request: &str, at: i64, expectation: Option<&Value>) -> Result<bool, Error> {
        let request = request.to_owned();
        let body = expectation.map(serde_json::to_string).transpose()?;
        self.sliced_work()?.write(move |connection, _| {
            let sql = "SELECT n FROM request WHERE id = ?1";
            let n: Option<i64> = connection.prepare_cached(sql)?.query_row((&request,), |row| row.get(0)).optional()?;
            let Some(n) = n else { return Ok(false) };
            forget(connection, n)?;
            if let Some(body) = &body {
                let sql = "INSERT INTO expectation (request, at, body) VALUES (?1, ?2, ?3)";
                connection.prepare_cached(sql)?.execute((n, at, body))?;
            }
            Ok(true)
        })
    }

    /// The code that each request ran, by the request's id.
    pub fn ran_code(&self) -> Result<HashMap<String, RanCode>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT r.id, json_extract(e.body, '$.codeHash'), r.epoch = 1 AND r.forked_from IS NULL
                 FROM request r JOIN event e ON e.request = r.n AND e.seq = 1 WHERE json_valid(e.body)",
            )?;
            let mut rows = statement.query(())?;
            let mut ran = HashMap::new();
            while let Some(row) = rows.next()? {
                let Some(hash) = row.get::<_, Option<String>>(1)? else { continue };
                ran.insert(row.get(0)?, RanCode { hash, is_whole: row.get(2)? });
            }
            Ok(ran)
        })
    }

    /// The ids of the requests that are expected to do something else than their events say, each with when that was
    /// accepted, in milliseconds since the epoch.
    pub fn expected(&self) -> Result<Vec<(String, i64)>, Error> {
        self.read(|connection| {
            let sql = "SELECT r.id, x.at FROM expectation x JOIN request r ON r.n = x.request";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Deletes what a request is expected to do, by the number of its row.
pub(crate) fn forget(connection: &Connection, request: i64) -> Result<(), Error> {
    connection.prepare_cached("DELETE FROM expectation WHERE request = ?1")?.execute((request,))?;
    Ok(())
}
