//! Replaces everything in a temporary database by a bundle.
//!
//! Nobody else reads or writes such a database, so the bundle is written to it at once, without a staging database and
//! a copy, and the database serves one bundle after another: creating one takes longer than writing a short bundle.
//! The rows are those of an import, except that no boundary events are around them.

use super::staging;
use crate::row::error::Error;
use crate::sql::Connection;
use crate::transfer::bundle::{self, BundleRecord, ImportError, Unfit};
use crate::{Store, lock};

/// Deletes all rows of a temporary database, and writes a bundle to it. If that fails, the database is as it was.
pub(crate) fn replace_all(store: &Store, bundle: Vec<BundleRecord>) -> Result<(), ImportError> {
    let writer = store.writer.handle();
    if writer.is_shared() {
        return Err(ImportError::Unfit(Unfit::new("only a temporary database can be replaced".to_owned())));
    }
    bundle::names(&bundle).map(drop)?;
    // The caches of the connection are cleared after it.
    let replaced = writer.run(move |connection| Ok(replace(connection, bundle)));
    // Its requests may have the same ids as those before.
    *lock(&store.unfinished) = None;
    replaced?
}

fn replace(connection: &Connection, bundle: Vec<BundleRecord>) -> Result<(), ImportError> {
    let transaction = connection.transaction()?;
    delete_all(&transaction)?;
    staging::write_alone(&transaction, bundle)?;
    Ok(transaction.commit()?)
}

/// Deletes the rows of all tables but those that have one row.
fn delete_all(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(
        // A table that refers to another one was created after it, so it is emptied first.
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('database', 'total')
         AND name NOT LIKE 'sqlite%' ORDER BY rowid DESC",
    )?;
    let tables: Vec<String> = statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let deletions: String = tables.iter().map(|table| format!("DELETE FROM {table};\n")).collect();
    connection.execute_batch(&deletions)?;
    connection.execute_batch(
        "UPDATE total SET indexed_events = 0, items = 0, payload_bytes = 0, unique_payload_bytes = 0, id_floor = 0",
    )?;
    Ok(())
}
