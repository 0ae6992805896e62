//! Queries for one session as a conversation: its requests a page at a time, and the sessions that are forks of it.

use crate::sql::Row;

use crate::Store;
use crate::read::runs::{RunRow, run};
use crate::read::session_order::SessionOrder;
use crate::read::sessions::{COLUMNS, LINEAGE, SessionRow, session};
use crate::row::error::Error;

/// A session in a tree of forks.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkNode {
    /// Its row.
    pub session: SessionRow,
    /// The session that it was forked from; `None` for the root.
    pub parent: Option<String>,
    /// The event of the request in `forked_from` at which it was forked.
    pub forked_at: Option<u64>,
}

impl Store {
    /// Returns a page of a session's requests, oldest first, and their number. A fork also has the requests before the
    /// fork.
    pub fn turns(&self, session: &str, offset: u64, limit: u64) -> Result<(u64, Vec<RunRow>), Error> {
        let shown = format!(
            "{LINEAGE} SELECT WHAT FROM lineage JOIN request r ON r.session = lineage.session AND r.n < before"
        );
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.read(|connection| {
            let count = connection
                .prepare_cached(&shown.replace("WHAT", "count(*)"))?
                .query_row((session,), |row| row.get(0))?;
            let order = SessionOrder::of(connection, session)?.sql("ASC");
            let page = format!("{} ORDER BY {order} LIMIT ?3 OFFSET ?2", shown.replace("WHAT", "r.n"));
            let mut statement = connection.prepare_cached(&page)?;
            let numbers = statement.query_map((session, bound(offset), bound(limit)), |row| row.get::<_, i64>(0))?;
            let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
            let rows = numbers.into_iter().map(|n| run(connection, n)).collect::<Result<_, _>>()?;
            Ok((count, rows))
        })
    }

    /// The position of a request in a session, counted from 0, in the order of [`turns`](Self::turns).
    pub fn turn_of(&self, session: &str, request: &str) -> Result<Option<u64>, Error> {
        self.read(|connection| {
            let is_before = match SessionOrder::of(connection, session)? {
                SessionOrder::Inserted => "o.n < own.n",
                SessionOrder::Started => {
                    "o.started_at < own.started_at OR o.started_at = own.started_at AND o.n < own.n"
                }
            };
            let sql = format!(
                "{LINEAGE}, own AS (SELECT r.n, r.id, r.started_at FROM lineage
                     JOIN request r ON r.session = lineage.session AND r.n < before)
                 SELECT (SELECT count(*) FROM own o WHERE {is_before}) FROM own WHERE id = ?2"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((session, request))?;
            Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
        })
    }

    /// Returns the whole fork tree that a session belongs to, parents before forks, up to `limit` sessions.
    pub fn fork_tree(&self, id: &str, limit: u64) -> Result<Vec<ForkNode>, Error> {
        let sql = format!(
            "WITH RECURSIVE above (n, parent) AS (
                 SELECT n, (SELECT session FROM request WHERE id = s.forked_from) FROM session s WHERE id = ?1
                 UNION ALL
                 SELECT s.n, (SELECT session FROM request WHERE id = s.forked_from) FROM above
                     JOIN session s ON s.n = above.parent),
             tree (n, parent, depth) AS (
                 SELECT n, CAST(NULL AS bigint), 0 FROM above WHERE parent IS NULL
                 UNION ALL
                 SELECT f.n, tree.n, tree.depth + 1 FROM tree
                     JOIN request r ON r.session = tree.n JOIN session f ON f.forked_from = r.id)
             {COLUMNS},
                 (SELECT id FROM session WHERE n = tree.parent),
                 (SELECT forked_at FROM request WHERE session = s.n AND forked_from = s.forked_from LIMIT 1)
             FROM (SELECT * FROM tree LIMIT ?2) tree
                 JOIN session s ON s.n = tree.n JOIN request r ON r.n = s.last_request
             ORDER BY tree.depth, s.n"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((id, i64::try_from(limit).unwrap_or(i64::MAX)))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(node(row)?);
            }
            Ok(found)
        })
    }
}

fn node(row: Row<'_>) -> Result<ForkNode, Error> {
    Ok(ForkNode { session: session(row)?, parent: row.get(19)?, forked_at: row.get(20)? })
}
