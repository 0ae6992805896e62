//! Adds entries to the queue of removals, the table `removal`: deleted rows, and rows of unfinished imports.
//! `transfer::removal` removes the rows later, a few at a time.

use crate::sql::Connection;
use crate::sql::OptionalExtension;

use crate::row::body;
use crate::row::error::Error;

/// Queues an entry, or increments its count if it is queued already.
pub(crate) fn queue(connection: &Connection, kind: &str, n: i64, name: Option<&str>) -> Result<(), Error> {
    // By the count, a process that is working on the entry sees that there is more to do.
    connection
        .prepare_cached(
            "INSERT INTO removal (kind, n, name) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, n, import) DO UPDATE SET last = coalesce(removal.last, 0) + 1",
        )?
        .execute((kind, n, name))?;
    Ok(())
}

/// Queues a payload. If it is queued already, the token of a process that is examining it is cleared, so that the
/// process decides again.
pub(crate) fn queue_payload(connection: &Connection, n: i64) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO removal (kind, n) VALUES ('payload', ?1)
             ON CONFLICT (kind, n, import) DO UPDATE SET last = NULL",
        )?
        .execute((n,))?;
    Ok(())
}

/// Queues the payloads that a body refers to. Payloads that these refer to are queued when they are examined.
pub(crate) fn queue_references(connection: &Connection, text: &str) -> Result<(), Error> {
    for name in body::referenced_payloads(text)? {
        let Ok(hash) = blake3::Hash::from_hex(&name) else { continue };
        let mut find = connection.prepare_cached("SELECT n FROM payload WHERE hash = ?1")?;
        if let Some(n) = find.query_row((hash.as_bytes(),), |row| row.get(0)).optional()? {
            queue_payload(connection, n)?;
        }
    }
    Ok(())
}

/// Whether the queue has entries.
pub(crate) fn is_any(connection: &Connection) -> crate::sql::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM removal)", (), |row| row.get(0))
}

/// Renames the scopes of removed requests with this id, which are not deleted yet, so that a new request can use the
/// id.
pub(crate) fn rename_scopes_of_removed(connection: &Connection, request: &str) -> Result<(), Error> {
    let mut statement = connection.prepare_cached("SELECT n FROM removal WHERE kind = 'request' AND name = ?1")?;
    let old = statement.query_map((request,), |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for n in old {
        connection.execute("UPDATE scope SET id = id || '~' || ?1 WHERE request = ?1", (n,))?;
    }
    Ok(())
}
