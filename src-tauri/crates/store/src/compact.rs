//! Giving back the room that nothing needs any more.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::delete::{Cleared, busy};
use crate::error::Error;
use crate::references::References;
use crate::writer::empty;
use crate::{Store, code, stats};

/// The size of a database before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// In bytes.
    pub before: u64,
    /// In bytes.
    pub after: u64,
}

impl Store {
    /// Drops values that nothing names and gives free pages back. Refused while a request runs: its
    /// process would have to wait for long.
    pub fn compact(&self) -> Result<Cleared<Compacted>, Error> {
        let owners = self.owners.clone();
        self.writer.run(move |connection| {
            let before = stats::bytes(connection)?;
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            if let Some(request) = busy(&transaction, &owners, None)? {
                return Ok(Cleared::Busy(request));
            }
            drop_unnamed(&transaction)?;
            transaction.commit()?;
            // SQLite writes a new database beside and copies it back in one transaction.
            connection.execute_batch("VACUUM")?;
            empty(connection)?;
            Ok(Cleared::Done(Compacted { before, after: stats::bytes(connection)? }))
        })
    }
}

fn drop_unnamed(connection: &Connection) -> Result<(), Error> {
    code::drop_unnamed(connection)?;
    let dropped = References::all(connection)?.drop_others(connection)?;
    connection.execute("UPDATE total SET unique_payload_bytes = max(0, unique_payload_bytes - ?1)", (dropped,))?;
    connection.execute(
        "DELETE FROM path WHERE n NOT IN (SELECT path FROM event WHERE path IS NOT NULL UNION SELECT path FROM attempt_rollback)",
        (),
    )?;
    Ok(())
}
