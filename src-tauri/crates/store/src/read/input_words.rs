//! The first words of what requests were asked, see `row/input_words.rs`.

use crate::sql::{Connection, OptionalExtension};

use crate::Store;
use crate::row::error::Error;

impl Store {
    /// The first words of the inputs of requests, in their order; `None` where a request has no input that reads as
    /// text, or is not there.
    pub fn input_words<I: AsRef<str>>(&self, requests: &[I]) -> Result<Vec<Option<String>>, Error> {
        self.read(|connection| requests.iter().map(|request| of_request(connection, request.as_ref())).collect())
    }
}

/// The first words of the input of one request.
pub(super) fn of_request(connection: &Connection, request: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare_cached("SELECT words FROM request WHERE id = ?1")?;
    Ok(statement.query_row((request,), |row| row.get(0)).optional()?.flatten())
}
