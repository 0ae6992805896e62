//! The queue of what is deleted, or was brought by an import that came to nothing: rows that `transfer::removal` takes
//! away later, a few at a time.

use rusqlite::Connection;
use rusqlite::OptionalExtension;

use crate::row::body;
use crate::row::error::Error;

/// Puts something into the queue.
pub(crate) fn queue(connection: &Connection, kind: &str, n: i64, name: Option<&str>) -> Result<(), Error> {
    // Who is at it already hears that there is more.
    connection
        .prepare_cached(
            "INSERT INTO removal (kind, n, name) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET last = coalesce(last, 0) + 1",
        )?
        .execute((kind, n, name))?;
    Ok(())
}

/// Puts a payload into the queue; whoever has decided about it must do so again.
pub(crate) fn queue_payload(connection: &Connection, n: i64) -> Result<(), Error> {
    connection
        .prepare_cached("INSERT INTO removal (kind, n) VALUES ('payload', ?1) ON CONFLICT DO UPDATE SET last = NULL")?
        .execute((n,))?;
    Ok(())
}

/// Puts the payloads that a line names into the queue; those that these name follow when they are looked at.
pub(crate) fn queue_names(connection: &Connection, line: &str) -> Result<(), Error> {
    for name in body::names(line)? {
        let Ok(hash) = blake3::Hash::from_hex(&name) else { continue };
        let mut find = connection.prepare_cached("SELECT n FROM payload WHERE hash = ?1")?;
        if let Some(n) = find.query_row((hash.as_bytes(),), |row| row.get(0)).optional()? {
            queue_payload(connection, n)?;
        }
    }
    Ok(())
}

/// Whether anything waits.
pub(crate) fn is_any(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM removal)", (), |row| row.get(0))
}

/// Makes room for a request whose id a removed one had: the scopes of that one are called otherwise.
pub(crate) fn make_room(connection: &Connection, request: &str) -> Result<(), Error> {
    let mut statement = connection.prepare_cached("SELECT n FROM removal WHERE kind = 'request' AND name = ?1")?;
    let old = statement.query_map((request,), |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for n in old {
        connection.execute("UPDATE scope SET id = id || '~' || ?1 WHERE request = ?1", (n,))?;
    }
    Ok(())
}
