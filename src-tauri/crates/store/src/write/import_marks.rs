//! The events around what an import brings: their ids say where it begins and ends, so that views step over it.

use rusqlite::Connection;

use crate::row::error::Error;

/// A mark's row, in which SQLite fills in what must differ.
const MARK: &str = "INSERT INTO event (id, request, seq, at, kind, attempt, body)
    SELECT ?1, 0, coalesce(max(seq), 0) + 1, 0, 'records_imported', 0, ?2 FROM event WHERE request = 0";

/// Writes a mark.
pub(crate) fn mark(connection: &Connection, id: i64) -> Result<(), Error> {
    connection.prepare_cached(MARK)?.execute((id, "{}"))?;
    Ok(())
}

/// Writes the marks around the events that an import brings; the first one tells the last.
pub(crate) fn marks(connection: &Connection, first: i64, last: i64) -> Result<(), Error> {
    connection.prepare_cached(MARK)?.execute((first, format!("{{\"last\":{last}}}")))?;
    mark(connection, last)
}
