//! A transaction that ends with its value.

use std::ops::Deref;

use super::{Connection, Result};

/// A transaction. Dropping it ends it without a trace.
pub(crate) struct Transaction<'c> {
    connection: &'c Connection,
    is_open: bool,
}

impl<'c> Transaction<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Transaction { connection, is_open: true }
    }

    /// Commits it.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.connection.commit()?;
        self.is_open = false;
        Ok(())
    }

    /// Ends one that has only read.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.is_open = false;
        self.connection.roll_back()
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // A connection that cannot roll back is not used again.
            let _ = self.connection.roll_back();
        }
    }
}
