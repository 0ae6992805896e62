//! Opening a database: whose file it is, which format, and with which settings.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::Durability;
use crate::error::OpenError;

/// "FGLS": marks our databases among all SQLite files.
const APPLICATION_ID: i64 = 0x4647_4C53;
/// The format this version writes.
const FORMAT: i64 = 1;
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// How to open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What an answered commit survives.
    pub durability: Durability,
    /// Whether to make a database that is not there.
    pub create: bool,
}

/// The writing connection.
pub(crate) fn open(file: &Path, options: &Options) -> Result<Connection, OpenError> {
    let io = |message: String| OpenError::Io { file: file.to_owned(), message };
    let is_new = match File::open(file) {
        Ok(mut existing) => {
            let mut header = Vec::new();
            existing.by_ref().take(16).read_to_end(&mut header).map_err(|error| io(error.to_string()))?;
            if !header.is_empty() && header != HEADER {
                return Err(OpenError::NotADatabase(file.to_owned()));
            }
            header.is_empty()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && options.create => {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(|error| io(error.to_string()))?;
            }
            true
        }
        Err(error) => return Err(io(error.to_string())),
    };
    if !is_new {
        check_identity(file)?;
    }
    let connection = Connection::open(file).map_err(|error| explain(file, &error))?;
    // The flag tells what the file allows; opening alone falls back to read-only silently.
    if connection.is_readonly("main").unwrap_or(false) || is_write_protected(file) {
        return Err(OpenError::ReadOnly(file.to_owned()));
    }
    settings(&connection, options).map_err(|error| explain(file, &error))?;
    if is_new {
        connection
            .execute_batch(&format!(
                "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
            ))
            .and_then(|()| create(&connection))
            .map_err(|error| explain(file, &error))?;
    }
    Ok(connection)
}

/// Another process may have made the tables while this one waited for the lock.
fn create(connection: &Connection) -> rusqlite::Result<()> {
    let made: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'event'", (), |row| row.get(0))?;
    if made == 0 {
        connection.execute_batch(include_str!("schema.sql"))?;
    }
    connection.execute_batch("COMMIT")
}

fn settings(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Whose file it is, read without changing a byte of it.
fn check_identity(file: &Path) -> Result<(), OpenError> {
    let connection = reader(file)?;
    let number = |pragma: &str| -> Result<i64, OpenError> {
        connection.query_row(&format!("PRAGMA {pragma}"), (), |row| row.get(0)).map_err(|error| explain(file, &error))
    };
    if number("application_id")? != APPLICATION_ID {
        return Err(OpenError::Foreign(file.to_owned()));
    }
    let found = number("user_version")?;
    if found > FORMAT {
        return Err(OpenError::Newer { file: file.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}

/// A connection that only reads.
pub(crate) fn reader(file: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(|error| explain(file, &error))?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(|error| explain(file, &error))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn is_write_protected(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().readonly())
}

fn explain(file: &Path, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::NotADatabase(file.to_owned()),
        Some(ErrorCode::ReadOnly) => OpenError::ReadOnly(file.to_owned()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked(file.to_owned()),
        _ => OpenError::Io { file: file.to_owned(), message: error.to_string() },
    }
}
