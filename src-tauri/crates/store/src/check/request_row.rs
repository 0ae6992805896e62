//! The row of a request as it is stored, to be compared with what the request's events derive.

use crate::sql::Connection;
use serde_json::Value;

use crate::row::error::Error;

/// A request's row, as stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RequestRow {
    pub(super) flow: String,
    pub(super) action: String,
    pub(super) user: String,
    pub(super) project: Option<String>,
    pub(super) status: String,
    pub(super) owner: String,
    pub(super) epoch: u64,
    pub(super) mock: Option<String>,
    pub(super) retry_of: Option<String>,
    pub(super) started_at: i64,
    pub(super) finished_at: Option<i64>,
    pub(super) error: Option<Value>,
    pub(super) claim: Option<String>,
}

/// Reads the row of request `n`.
pub(super) fn read(connection: &Connection, n: i64) -> Result<RequestRow, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT flow, action, user, project, status, owner, mock, retry_of, started_at, finished_at, error, claim,
             epoch
             FROM request WHERE n = ?1",
        )?
        .query_row((n,), |row| {
            let error: Option<String> = row.get(10)?;
            Ok(RequestRow {
                flow: row.get(0)?,
                action: row.get(1)?,
                user: row.get(2)?,
                project: row.get(3)?,
                status: row.get(4)?,
                owner: row.get(5)?,
                epoch: row.get(12)?,
                mock: row.get(6)?,
                retry_of: row.get(7)?,
                started_at: row.get(8)?,
                finished_at: row.get(9)?,
                // Invalid JSON becomes a string, which differs from what the events derive.
                error: error.map(|text| engine::json::parse(&text).unwrap_or(Value::String(text))),
                claim: row.get(11)?,
            })
        })?)
}
