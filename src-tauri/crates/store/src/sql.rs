//! One way to speak to either database: SQLite in a file, or PostgreSQL on a server.
//!
//! The statements of this crate are written once, in the SQL that both understand, with `?1` for the first value. This
//! module hides who answers: it has the names and shapes of rusqlite, whose column types it uses, so that a statement
//! is prepared, bound and read in the same way for both. What PostgreSQL lacks of SQLite's functions is defined in its
//! schema (`sql/postgres/functions.sql`), and `sql/dialect.rs` translates what is written differently.
//!
//! A transaction that writes excludes all other writers, in both databases: SQLite locks the file, and on a server the
//! one row of `revision` is locked. So everything in this crate that counts, allots numbers or compares versions in a
//! transaction holds for both. A snapshot sees one committed state.
//!
//! It must not know any table of the crate but `revision`.

mod client_files;
pub(crate) mod dialect;
mod error;
#[macro_use]
mod params;
pub(crate) mod place;
pub(crate) mod postgres;
mod row;
mod statement;
mod transaction;

pub(crate) use error::{Error, OptionalExtension, Result};
pub(crate) use params::{Params, params, params_from_iter};
pub(crate) use place::DataPlace;
pub(crate) use row::{Row, Rows};
pub(crate) use rusqlite::types::{FromSqlError, Value};
pub(crate) use statement::Statement;
pub(crate) use transaction::Transaction;

use std::time::Duration;

use postgres::Session;

/// A text with the symbol of `\0` in place of that letter, which a server does not have. What lists show is stored so
/// in a file, too: SQLite's `lower` ends at that letter.
pub(crate) fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{2400}") } else { text }
}

/// A connection to either database. One thread uses it at a time.
pub(crate) enum Connection {
    /// To a file.
    Sqlite(rusqlite::Connection),
    /// To a server.
    Postgres(Box<Session>),
}

impl From<rusqlite::Connection> for Connection {
    fn from(connection: rusqlite::Connection) -> Self {
        Connection::Sqlite(connection)
    }
}

impl Connection {
    /// A temporary database in a file without a name.
    #[cfg(test)]
    pub(crate) fn temporary() -> Result<Connection> {
        Ok(Connection::Sqlite(rusqlite::Connection::open("")?))
    }

    /// The connection to a file; none to a server. For what only a file has.
    pub(crate) fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match self {
            Connection::Sqlite(connection) => Some(connection),
            Connection::Postgres(_) => None,
        }
    }

    /// The session with a server.
    pub(crate) fn server(&self) -> Option<&Session> {
        match self {
            Connection::Sqlite(_) => None,
            Connection::Postgres(session) => Some(session),
        }
    }

    /// Prepares a statement that is used once.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Connection::Sqlite(connection) => Statement::Once(connection.prepare(sql)?),
            Connection::Postgres(session) => Statement::Postgres(session, sql.to_owned()),
        })
    }

    /// Prepares a statement, or takes it from those that were prepared before.
    pub(crate) fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Connection::Sqlite(connection) => Statement::Cached(connection.prepare_cached(sql)?),
            Connection::Postgres(session) => Statement::Postgres(session, sql.to_owned()),
        })
    }

    /// Runs one statement; how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// Runs statements without values, one after another.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(session) => session.batch(sql),
        }
    }

    /// Reads the first row of what a statement finds; [`Error::is_no_row`] if there is none.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare(sql)?.query_row(params, read)
    }

    /// Begins a transaction that writes, or fails with [`Error::is_busy`] if another one holds the lock for longer than
    /// the busy timeout.
    pub(crate) fn begin(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => {
                Ok(connection.prepare_cached("BEGIN IMMEDIATE")?.execute(()).map(drop)?)
            }
            Connection::Postgres(session) => session.begin(),
        }
    }

    /// Commits the transaction that is open.
    pub(crate) fn commit(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.prepare_cached("COMMIT")?.execute(()).map(drop)?),
            Connection::Postgres(session) => session.commit(),
        }
    }

    /// Ends the transaction that is open, without a trace.
    pub(crate) fn roll_back(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.execute_batch("ROLLBACK")?),
            Connection::Postgres(session) => session.roll_back(),
        }
    }

    /// Begins a transaction that writes and that is rolled back unless it is committed.
    pub(crate) fn transaction(&self) -> Result<Transaction<'_>> {
        self.begin()?;
        Ok(Transaction::new(self))
    }

    /// Begins a transaction that reads one committed state.
    pub(crate) fn snapshot(&self) -> Result<Transaction<'_>> {
        match self {
            Connection::Sqlite(connection) => connection.prepare_cached("BEGIN DEFERRED")?.execute(()).map(drop)?,
            Connection::Postgres(session) => session.snapshot()?,
        }
        Ok(Transaction::new(self))
    }

    /// A number that changes with every commit of another connection.
    pub(crate) fn data_version(&self) -> Result<i64> {
        match self {
            Connection::Sqlite(connection) => {
                Ok(connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))?)
            }
            Connection::Postgres(session) => session.data_version(),
        }
    }

    /// Whether no transaction is open, and the connection works.
    pub(crate) fn is_autocommit(&self) -> bool {
        match self {
            Connection::Sqlite(connection) => connection.is_autocommit(),
            Connection::Postgres(session) => !session.is_closed(),
        }
    }

    /// Sets a property of a file; a server has none of these.
    pub(crate) fn set_pragma(&self, name: &str, value: impl rusqlite::ToSql) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.pragma_update(None, name, value)?),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// How long a transaction that writes waits for another one.
    pub(crate) fn busy_timeout(&self, limit: Duration) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.busy_timeout(limit)?),
            Connection::Postgres(session) => session.busy_timeout(limit),
        }
    }

    /// Whether the lock that could not be had is held by processes of Flowglass only. Of a file this is not known.
    pub(crate) fn is_locked_by_flowglass(&self) -> bool {
        matches!(self, Connection::Postgres(session) if session.is_locked_by_flowglass())
    }

    /// Whether the session with a server was cut off.
    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self, Connection::Postgres(session) if session.is_closed())
    }

    /// A handle to end what the connection does, from another thread.
    pub(crate) fn interrupt(&self) -> Interrupt {
        match self {
            Connection::Sqlite(connection) => Interrupt::Sqlite(connection.get_interrupt_handle()),
            Connection::Postgres(session) => Interrupt::Postgres(session.cancel_token()),
        }
    }
}

/// Ends what a connection does; it fails with an error.
pub(crate) enum Interrupt {
    Sqlite(rusqlite::InterruptHandle),
    Postgres(postgres::Cancel),
}

impl Interrupt {
    /// Ends it.
    pub(crate) fn interrupt(&self) {
        match self {
            Interrupt::Sqlite(handle) => handle.interrupt(),
            Interrupt::Postgres(cancel) => cancel.cancel(),
        }
    }
}
