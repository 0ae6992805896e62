//! In what order the requests of one session are.
//!
//! The requests of a flow are inserted in the order in which they begin, which no clock changes and an index has.
//! Those that were received as traces are inserted as they arrive, so for them times count.

use crate::row::error::Error;
use crate::sql::{Connection, OptionalExtension};

/// By what the requests `r` of a session are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionOrder {
    /// As they were inserted.
    Inserted,
    /// By their times.
    Started,
}

impl SessionOrder {
    /// That of a session.
    pub(super) fn of(connection: &Connection, session: &str) -> Result<SessionOrder, Error> {
        let sql = "SELECT r.n FROM session s JOIN request r ON r.n = s.last_request
                   WHERE s.id = ?1 AND r.emitter IS NOT NULL";
        let newest: Option<i64> = connection.prepare_cached(sql)?.query_row((session,), |row| row.get(0)).optional()?;
        Ok(if newest.is_some() { SessionOrder::Started } else { SessionOrder::Inserted })
    }

    /// The terms of ORDER BY: the oldest first for `ASC`, the newest for `DESC`.
    pub(super) fn sql(self, way: &str) -> String {
        match self {
            SessionOrder::Inserted => format!("r.n {way}"),
            SessionOrder::Started => format!("r.started_at {way}, r.n {way}"),
        }
    }
}
