//! What lists do with samples of experiments: an experiment of 100 arms would fill every list with its forks.

use crate::row::error::Error;
use crate::sql::{Connection, OptionalExtension};

/// What a list of requests or sessions does with samples of experiments.
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

impl Samples {
    /// The condition on the request with the alias `r`, if there is one.
    pub(super) fn condition(self, connection: &Connection, has_session: bool) -> Result<Option<String>, Error> {
        match self {
            Samples::LeftOut if !has_session && are_there(connection)? => Ok(Some(format!("NOT {IS_SAMPLE}"))),
            Samples::Only => Ok(Some(IS_SAMPLE.to_owned())),
            Samples::LeftOut | Samples::Listed => Ok(None),
        }
    }
}

/// Whether there is a sample. Without one, lists are read from their indexes alone.
pub(super) fn are_there(connection: &Connection) -> Result<bool, Error> {
    let mut statement = connection.prepare_cached("SELECT experiment FROM sample LIMIT 1")?;
    Ok(statement.query_row((), |row| row.get::<_, i64>(0)).optional()?.is_some())
}
