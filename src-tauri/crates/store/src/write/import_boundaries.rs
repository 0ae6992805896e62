//! The `records_imported` events before and after the events of an import. Their ids delimit the range, whose events
//! happened in another database, so that views of other requests can skip it.

use crate::sql::Connection;

use crate::row::error::Error;

/// Inserts a boundary event. Boundaries belong to no request (`request` is 0) and count `seq` among themselves.
const INSERT: &str = "INSERT INTO event (id, request, seq, at, kind, attempt, body)
    SELECT ?1, 0, coalesce(max(seq), 0) + 1, 0, 'records_imported', 0, ?2 FROM event WHERE request = 0";

/// Writes one boundary event.
pub(crate) fn insert(connection: &Connection, id: i64) -> Result<(), Error> {
    connection.prepare_cached(INSERT)?.execute((id, "{}"))?;
    Ok(())
}

/// Writes the two boundary events of an import; the body of the first has the id of the last.
pub(crate) fn insert_pair(connection: &Connection, first: i64, last: i64) -> Result<(), Error> {
    connection.prepare_cached(INSERT)?.execute((first, format!("{{\"last\":{last}}}")))?;
    insert(connection, last)
}
