//! Where blocks began.

use std::ops::RangeInclusive;
use std::sync::Arc;

use engine::event::Seq;

use crate::Store;
use crate::row::error::Error;

impl Store {
    /// The paths at which blocks began between two events of a request, by these first events. Reads no inputs.
    pub fn blocks_begun(&self, request: &str, range: RangeInclusive<Seq>) -> Result<Vec<(Seq, Arc<str>)>, Error> {
        let bound = |seq: Seq| i64::try_from(seq).unwrap_or(i64::MAX);
        let range = (request, bound(*range.start()), bound(*range.end()));
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT e.seq, p.text FROM request r JOIN event e ON e.request = r.n JOIN path p ON p.n = e.path
                 WHERE r.id = ?1 AND e.seq BETWEEN ?2 AND ?3 AND e.kind = 'block_started' ORDER BY e.seq",
            )?;
            let rows = statement.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
