//! What lists do with samples of experiments: an experiment of 100 arms would fill every list with its forks.

use std::collections::HashSet;

use crate::row::error::Error;
use crate::sql::{Connection, OptionalExtension};

/// What a list of requests, sessions, questions or hits does with samples of experiments, and with the other requests
/// that an experiment has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// They are left out, unless the list is that of one session.
    #[default]
    LeftOut,
    /// They are listed like other requests.
    Listed,
    /// Only they are listed.
    Only,
}

/// Whether the request with the alias `r` is a sample.
pub(crate) const IS_SAMPLE: &str = "EXISTS (SELECT 1 FROM sample p WHERE p.request = r.id)";
/// The same, where all samples are wanted: they are read from their own table.
pub(super) const AMONG_SAMPLES: &str = "r.id IN (SELECT p.request FROM sample p)";

impl Samples {
    /// The condition on the request with the alias `r`, if there is one.
    pub(super) fn condition(self, connection: &Connection, has_session: bool) -> Result<Option<String>, Error> {
        match self {
            Samples::LeftOut if !has_session && are_there(connection)? => Ok(Some(format!("NOT {IS_SAMPLE}"))),
            Samples::Only => Ok(Some(IS_SAMPLE.to_owned())),
            Samples::LeftOut | Samples::Listed => Ok(None),
        }
    }

    /// Which requests are kept of a list that is not read by a condition on requests: those whose row has a number for
    /// which this is true.
    pub(super) fn kept(self, connection: &Connection, has_session: bool) -> Result<impl Fn(i64) -> bool, Error> {
        let condition = self.condition(connection, has_session)?;
        let samples = condition.as_ref().map(|_| numbers(connection)).transpose()?;
        Ok(move |request| samples.as_ref().is_none_or(|samples| samples.contains(&request) == (self == Samples::Only)))
    }
}

/// The numbers of the samples' rows.
fn numbers(connection: &Connection) -> Result<HashSet<i64>, Error> {
    let mut statement = connection.prepare_cached(&format!("SELECT r.n FROM request r WHERE {AMONG_SAMPLES}"))?;
    let numbers = statement.query_map((), |row| row.get(0))?;
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// Whether there is a sample. Without one, lists are read from their indexes alone.
pub(super) fn are_there(connection: &Connection) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached("SELECT experiment FROM sample LIMIT 1")?;
    Ok(statement.query_row((), |row| row.get::<_, i64>(0)).optional()?.is_some())
}
