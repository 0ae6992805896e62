//! By what lists of requests are ordered, and when requests changed.

use crate::sql::OptionalExtension;

use crate::Store;
use crate::row::error::Error;

/// By what requests are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestOrder {
    /// The newest first.
    #[default]
    Started,
    /// The one with the newest event first.
    Changed,
}

/// The newest event of a request first.
pub(super) const CHANGED_LAST: &str =
    "(SELECT e.at FROM event e WHERE e.request = r.n ORDER BY e.seq DESC LIMIT 1) DESC, r.n DESC";

impl Store {
    /// When requests had their newest event, in milliseconds since 1970, in their order; 0 for one that is not there.
    pub fn changed_at<I: AsRef<str>>(&self, requests: &[I]) -> Result<Vec<i64>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT e.at FROM event e WHERE e.request = (SELECT n FROM request WHERE id = ?1)
                 ORDER BY e.seq DESC LIMIT 1",
            )?;
            let at = |id: &I| Ok(statement.query_row((id.as_ref(),), |row| row.get(0)).optional()?.unwrap_or(0));
            requests.iter().map(at).collect()
        })
    }
}
