//! Opening a database: whose file it is, which format, and with which settings.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::Durability;
use crate::error::OpenError;

/// "FGLS": marks our databases among all SQLite files.
const APPLICATION_ID: i64 = 0x4647_4C53;
/// The format this version writes.
const FORMAT: i64 = 1;
/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// How long the header is that the magic begins.
const HEADER: usize = 100;

/// How long another process may hold the lock.
const PATIENCE: Duration = Duration::from_secs(10);

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
        Ok(existing) => {
            let mut header = Vec::new();
            existing.take(HEADER as u64).read_to_end(&mut header).map_err(|error| io(error.to_string()))?;
            if !header.is_empty() {
                check_identity(file, &header)?;
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
        if is_write_protected(file) {
            return Err(OpenError::ReadOnly(file.to_owned()));
        }
        check_log(file)?;
    }
    let connection = Connection::open(file).map_err(|error| explain(file, &error))?;
    // Opening alone falls back to read-only silently.
    if connection.is_readonly("main").unwrap_or(false) {
        return Err(OpenError::ReadOnly(file.to_owned()));
    }
    if is_new {
        create(&connection).map_err(|error| explain(file, &error))?;
    }
    settings(&connection, options).map_err(|error| explain(file, &error))?;
    Ok(connection)
}

/// Before the write-ahead log is switched on, so that the file's own header says whose it is.
fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Another process may have made the tables while this one waited for the lock.
    let made: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'event'", (), |row| row.get(0))?;
    if made == 0 {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        connection.execute_batch(include_str!("schema.sql"))?;
    }
    connection.execute_batch("COMMIT")
}

fn settings(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
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

/// Whose file it is, from its header alone: SQLite itself would put files beside a stranger's.
fn check_identity(file: &Path, header: &[u8]) -> Result<(), OpenError> {
    if header.len() < HEADER || !header.starts_with(MAGIC) {
        return Err(OpenError::NotADatabase(file.to_owned()));
    }
    let number =
        |at: usize| i64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    if number(68) != APPLICATION_ID {
        return Err(OpenError::Foreign(file.to_owned()));
    }
    let found = number(60);
    if found > FORMAT {
        return Err(OpenError::Newer { file: file.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}

/// The same for a format that a killed process left in the write-ahead log of a file that is ours.
fn check_log(file: &Path) -> Result<(), OpenError> {
    let found =
        reader(file)?.query_row("PRAGMA user_version", (), |row| row.get(0)).map_err(|error| explain(file, &error))?;
    if found > FORMAT {
        return Err(OpenError::Newer { file: file.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}

/// A connection that only reads.
pub(crate) fn reader(file: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(|error| explain(file, &error))?;
    connection.busy_timeout(PATIENCE).map_err(|error| explain(file, &error))?;
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
