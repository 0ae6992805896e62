//! Sizes and counts, from running totals: no table is scanned for them.

use rusqlite::Connection;
use serde::Serialize;

use crate::Store;
use crate::error::Error;

/// Sizes and counts of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The size of the database, the log that is not yet folded into its file included.
    pub bytes: u64,
    /// Events of all requests.
    pub events: u64,
    /// Items added, transient ones left out.
    pub items: u64,
    /// Sessions.
    pub sessions: u64,
    /// Requests.
    pub requests: u64,
    /// JSON bytes of the values that flows put into the log.
    pub payload_bytes: u64,
    /// The same without the repeats that are stored once.
    pub unique_payload_bytes: u64,
}

/// The size of a database, the log beside its file included.
pub(crate) fn bytes(connection: &Connection) -> Result<u64, Error> {
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
            Ok(connection.query_row(
                "SELECT events, items, payload_bytes, unique_payload_bytes,
                 (SELECT count(*) FROM session), (SELECT count(*) FROM request) FROM total",
                (),
                |row| {
                    Ok(Stats {
                        bytes,
                        events: row.get(0)?,
                        items: row.get(1)?,
                        payload_bytes: row.get(2)?,
                        unique_payload_bytes: row.get(3)?,
                        sessions: row.get(4)?,
                        requests: row.get(5)?,
                    })
                },
            )?)
        })
    }
}
