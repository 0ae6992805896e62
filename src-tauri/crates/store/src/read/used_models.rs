//! What requests used of models in calls that they paid for themselves: without those that a fork has in common with
//! its origin, and answers that another sample of an experiment paid for.

use crate::Store;
use crate::row::annotation::{self, Subject};
use crate::row::error::Error;
use crate::row::model_usage::Payer;
use crate::sql::Connection;

/// What a request used of one model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelUsed {
    /// The number of the model.
    pub model: i64,
    /// How many calls.
    pub calls: u64,
    /// How many of them say what they used.
    pub counted: u64,
    /// What the model was told.
    pub input: u64,
    /// What of it was in the provider's cache.
    pub cached: u64,
    /// What the model said.
    pub output: u64,
}

impl Store {
    /// What a request used of each model.
    pub fn used(&self, id: &str) -> Result<Vec<ModelUsed>, Error> {
        self.read(|connection| {
            let n = annotation::row_of(connection, Subject::Request, id)?;
            n.map_or(Ok(Vec::new()), |n| used(connection, n))
        })
    }
}

/// The same of the request with this number.
pub(super) fn used(connection: &Connection, n: i64) -> Result<Vec<ModelUsed>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT model, calls, counted, input, cached, output FROM model_usage WHERE request = ?1 AND paid_by = ?2",
    )?;
    let rows = statement.query_map((n, Payer::Own.number()), |row| {
        Ok(ModelUsed {
            model: row.get(0)?,
            calls: row.get(1)?,
            counted: row.get(2)?,
            input: row.get(3)?,
            cached: row.get(4)?,
            output: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
