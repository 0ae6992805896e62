//! Sizes and counts of a database. They come from running totals; only the newest events of requests that have not
//! ended are read.

use crate::sql::Connection;
use serde::Serialize;

use crate::Store;
use crate::read::samples::AMONG_SAMPLES;
use crate::row::error::Error;
use crate::row::references::References;
use crate::row::totals;

/// Sizes and counts of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The size of the database in bytes, pages in the write-ahead log included.
    pub bytes: u64,
    /// Events of all requests.
    pub events: u64,
    /// Items added, transient ones left out.
    pub items: u64,
    /// Sessions.
    pub sessions: u64,
    /// Requests, with the samples of experiments.
    pub requests: u64,
    /// How many of the requests are samples of experiments, which lists leave out.
    pub samples: u64,
    /// JSON bytes of the values that flows put into the log.
    pub payload_bytes: u64,
    /// The same, with values that are stored once counted once: never more than `payload_bytes`.
    pub unique_payload_bytes: u64,
}

/// The size of a database in bytes, pages in the write-ahead log included.
pub(crate) fn bytes(connection: &Connection) -> Result<u64, Error> {
    if connection.server().is_some() {
        let sql = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
             WHERE c.relkind = 'r' AND c.relnamespace = CAST(current_schema() AS regnamespace)";
        return Ok(connection.query_row(sql, (), |row| row.get(0))?);
    }
    let pragma = |name: &str| -> Result<u64, Error> {
        Ok(connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get(0))?)
    };
    Ok(pragma("page_count")? * pragma("page_size")?)
}

impl Store {
    /// Sizes and counts.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.read(|connection| {
            let bytes = bytes(connection)?;
            let totals = totals::read(connection)?;
            let count =
                |table: &str| connection.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0));
            let sum = |sum: i64| u64::try_from(sum).unwrap_or_default();
            Ok(Stats {
                bytes,
                events: sum(totals.events),
                items: sum(totals.items),
                sessions: count("session")?,
                requests: count("request")?,
                samples: count(&format!("request r WHERE {AMONG_SAMPLES}"))?,
                payload_bytes: sum(totals.payload_bytes),
                // An event whose large value is in `payload` counts the bytes of its body besides: the reference is
                // there, with fields that the engine adds, which are no values.
                unique_payload_bytes: sum(totals.unique_bytes - code_bytes(connection)?).min(sum(totals.payload_bytes)),
            })
        })
    }
}

/// How many bytes of JSON the code of bundles has in `payload`.
fn code_bytes(connection: &Connection) -> Result<i64, Error> {
    let mut named = References::default();
    let mut statement = connection.prepare("SELECT body FROM code")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        named.add(connection, &row.get::<_, String>(0)?)?;
    }
    named.bytes(connection)
}
