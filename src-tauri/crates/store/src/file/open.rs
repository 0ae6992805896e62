//! Opening a database: checks that it is one of Flowglass and of a known format, and configures the connection.
//!
//! If a file is refused, neither it nor its folder is written to: application id and format are read from the bytes of
//! the header before SQLite opens it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::event::Event;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::file::owners::Owners;
use crate::file::{migrate, read_only, server};
use crate::read::run_filter;
use crate::row::error::OpenError;
use crate::row::waiting::{BUSY_TIMEOUT, OnBusy, Waiting};
use crate::sql::{self, DataPlace};

/// "FGLS", the `application_id` of Flowglass's databases.
pub(crate) const APPLICATION_ID: u32 = 0x4647_4C53;
/// The busy timeout for reading: another process may be creating or recovering the database.
const READABLE_TIMEOUT: Duration = Duration::from_secs(5);
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The length of SQLite's file header. Numbers in it are big-endian, at these offsets.
const HEADER_BYTES: usize = 100;
const PAGE_SIZE_AT: usize = 16;
const READ_VERSION_AT: usize = 19;
const PAGE_COUNT_AT: usize = 28;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

/// The read version of a database with a write-ahead log.
const WAL_VERSION: u8 = 2;
/// The pause before checking again whether another process still has the database open.
const LOG_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The failures that a commit survives once it was reported to its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A killed process (`PRAGMA synchronous = NORMAL`).
    #[default]
    Process,
    /// A power failure (`PRAGMA synchronous = FULL`).
    Power,
    /// As [`Power`](Self::Power), and every step boundary waits for its commit.
    Each,
    /// None (`PRAGMA synchronous = OFF`): a temporary database that only this process has open. Long work does not
    /// pause for other writers.
    Scratch,
}

impl Durability {
    fn synchronous(self) -> &'static str {
        match self {
            Durability::Process => "NORMAL",
            Durability::Power | Durability::Each => "FULL",
            Durability::Scratch => "OFF",
        }
    }
}

/// How to open a database.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The failures that a commit survives.
    pub durability: Durability,
    /// Whether to create the database, and its folder, if there is none.
    pub create: bool,
    /// Tells which owners of requests are alive.
    pub owners: Owners,
    /// Called when another process keeps the database locked for long.
    pub on_busy: OnBusy,
    /// Called for each damaged event that is read.
    pub on_damaged: OnDamaged,
    /// Whether to skip unfinished removals that an earlier process left in the queue.
    pub skip_removals: bool,
    /// Whether the database may be changed.
    pub access: Access,
    /// On a server: the name of the time zone in which days are counted (default: the server's).
    pub time_zone: Option<String>,
}

/// Whether a database may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It is created, migrated and written to.
    #[default]
    ReadWrite,
    /// Its file and folder are never changed; appends fail.
    ReadOnly,
}

/// A function that is called with the request's id and the event when a damaged event is read.
#[derive(Clone)]
pub struct OnDamaged(Arc<TellDamage>);

type TellDamage = dyn Fn(&str, &Event) + Send + Sync;

impl OnDamaged {
    /// Calls `tell` for each damaged event, on the thread that reads.
    pub fn new(tell: impl Fn(&str, &Event) + Send + Sync + 'static) -> OnDamaged {
        OnDamaged(Arc::new(tell))
    }

    /// Reports the damaged events of these events of a request.
    pub(crate) fn report_damaged(&self, request: &str, events: &[Event]) {
        events.iter().filter(|event| event.kind.is_damaged()).for_each(|event| (self.0)(request, event));
    }
}

impl Default for OnDamaged {
    fn default() -> Self {
        OnDamaged::new(|_, _| {})
    }
}

impl std::fmt::Debug for OnDamaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnDamaged")
    }
}

/// Opens the writing connection, or a reading one with [`Access::ReadOnly`]. An empty file counts as a missing one,
/// because a crash between the creation of the file and its tables leaves one.
pub(crate) fn open(place: &DataPlace, options: &Options, waiting: &Waiting) -> Result<sql::Connection, OpenError> {
    let path = match place {
        DataPlace::Server(server) => return server::open(server, options),
        DataPlace::File(_) if options.access == Access::ReadOnly => return reader(place, options.access),
        DataPlace::File(path) => path.as_path(),
    };
    match examine(path)? {
        Found::Flowglass => check_writable(path)?,
        Found::Nothing if options.create => {
            check_writable(path)?;
            create_folder(path)?;
        }
        Found::Nothing => {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
    }
    refuse_without_log(path)?;
    let explain = |error: &rusqlite::Error| OpenError::from_sqlite(path, error);
    // Without SQLITE_OPEN_URI, so that a path that begins with `file:` is not taken for a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| explain(&error))?;
    connection.busy_timeout(READABLE_TIMEOUT).map_err(|error| explain(&error))?;
    if options.durability == Durability::Scratch {
        // Otherwise creating the tables would wait for the disk.
        connection
            .pragma_update(None, "synchronous", options.durability.synchronous())
            .map_err(|error| explain(&error))?;
    }
    let mut connection = sql::Connection::Sqlite(connection);
    migrate::prepare(&mut connection, path, waiting)?;
    let explain = |error: sql::Error| OpenError::from_sql(path, &error);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
    configure(&connection, options, waiting).map_err(explain)?;
    Ok(connection)
}

/// Opens a reading connection.
pub(crate) fn reader(place: &DataPlace, access: Access) -> Result<sql::Connection, OpenError> {
    let path = match place {
        DataPlace::Server(server) => return server::reader(server),
        DataPlace::File(path) => path.as_path(),
    };
    let explain = |error: rusqlite::Error| OpenError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        Access::ReadOnly if !read_only::has_log(path) => {
            Connection::open_with_flags(read_only::immutable(path), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => Connection::open_with_flags(path, flags),
    }
    .map_err(explain)?;
    connection.busy_timeout(READABLE_TIMEOUT).map_err(explain)?;
    configure_statement_cache(&connection).and_then(|()| run_filter::add_function(&connection)).map_err(explain)?;
    Ok(sql::Connection::Sqlite(connection))
}

/// Enlarges the cache of prepared statements, and makes SQLite's plans independent of bound values: it would otherwise
/// prepare range queries again when their values change.
pub(crate) fn configure_statement_cache(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The kind of file at a path.
pub(crate) enum Found {
    /// No file, or an empty one.
    Nothing,
    /// A Flowglass database of a known format.
    Flowglass,
}

/// Examines the file at a path without writing to it or opening it with SQLite.
pub(crate) fn examine(path: &Path) -> Result<Found, OpenError> {
    let path_buf = || path.to_owned();
    // A pipe or a device is not opened, because that may block.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Err(OpenError::NotADatabase { path: path_buf() });
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(OpenError::Unwritable { path: path_buf(), message: error.to_string() });
        }
        Err(error) => return Err(OpenError::io(path, error)),
    };
    let metadata = file.metadata().map_err(|error| OpenError::io(path, error))?;
    if metadata.is_dir() {
        return Err(OpenError::io(path, "it is a folder"));
    }
    refuse_hard_linked(path, &metadata)?;
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(|error| OpenError::io(path, error))?;
    if !header.is_empty() {
        if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
            return Err(OpenError::NotADatabase { path: path_buf() });
        }
        // The transaction that creates the database writes both numbers before WAL mode is set, so they are in the file
        // itself, never only in the log.
        if header_u32(&header, APPLICATION_ID_AT) != APPLICATION_ID {
            return Err(OpenError::Foreign { path: path_buf() });
        }
        migrate::check_format(path, header_u32(&header, USER_VERSION_AT))?;
        check_length(path, &header, &file)?;
    }
    Ok(if header.is_empty() { Found::Nothing } else { Found::Flowglass })
}

/// Refuses a file with several names: SQLite names the log after the name by which the database is opened, so processes
/// that use different names would each have a log of their own.
#[cfg(unix)]
fn refuse_hard_linked(path: &Path, metadata: &Metadata) -> Result<(), OpenError> {
    use std::os::unix::fs::MetadataExt;
    match metadata.nlink() {
        0 | 1 => Ok(()),
        names => Err(OpenError::HardLinked { path: path.to_owned(), names }),
    }
}

/// On Windows the standard library does not provide the number of names.
#[cfg(not(unix))]
fn refuse_hard_linked(_path: &Path, _metadata: &Metadata) -> Result<(), OpenError> {
    Ok(())
}

/// Refuses a database whose log, or the index of the log, was removed while another process has it open. SQLite would
/// make new ones, and the two processes would overwrite each other's pages.
///
/// While any process has the database open, both files exist, except for a moment when it is opened or closed. If one
/// is missing, no process may have the database open, which is the case if SQLite grants an exclusive lock.
fn refuse_without_log(path: &Path) -> Result<(), OpenError> {
    let path = &real(path);
    let began = Instant::now();
    loop {
        let missing = ["-wal", "-shm"].iter().map(|suffix| sibling(path, suffix)).find(|file| !file.exists());
        let Some(file) = missing.filter(|_| is_in_wal_mode(path)) else { return Ok(()) };
        match lock_alone(path) {
            Err(error) if is_locked(&error) && began.elapsed() < READABLE_TIMEOUT => {
                std::thread::sleep(LOG_RETRY_PAUSE);
            }
            Err(error) if is_locked(&error) && is_held_alone(path) => {
                return Err(OpenError::Locked { path: path.to_owned() });
            }
            Err(error) if is_locked(&error) => return Err(OpenError::LogRemoved { file }),
            // Opening the database will report any other error.
            _ => return Ok(()),
        }
    }
}

/// Whether the error is that another process holds a lock.
fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Takes and releases an exclusive lock on a database in WAL mode.
fn lock_alone(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.query_row("SELECT count(*) FROM sqlite_master", (), |_| Ok(()))
}

/// Whether another process has an exclusive lock on a database. Then the log's index is not needed, so it may be
/// absent.
fn is_held_alone(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let address = read_only::address(path, "readonly_shm=1");
    let read = Connection::open_with_flags(address, flags).and_then(|connection| {
        connection.busy_timeout(Duration::ZERO)?;
        connection.query_row("SELECT count(*) FROM sqlite_master", (), |_| Ok(()))
    });
    read.is_err_and(|error| is_locked(&error))
}

/// Whether the header says that the database has a write-ahead log.
fn is_in_wal_mode(path: &Path) -> bool {
    let mut header = [0; HEADER_BYTES];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header[READ_VERSION_AT] == WAL_VERSION
}

/// Refuses a file that cannot be written to.
fn check_writable(path: &Path) -> Result<(), OpenError> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    // The mode bits are checked too, because the superuser can open any file for writing.
    if metadata.permissions().readonly() || !is_writable(path) {
        return Err(OpenError::ReadOnly { path: path.to_owned() });
    }
    Ok(())
}

/// Resolves links, because SQLite puts its log beside the real file.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The format in the header of a Flowglass database.
pub(crate) fn format_of(path: &Path) -> Result<u32, OpenError> {
    let mut header = [0; HEADER_BYTES];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).map_err(|error| OpenError::io(path, error))?;
    Ok(header_u32(&header, USER_VERSION_AT))
}

/// Refuses a file that is shorter than its header says. After a crash, and while another process commits, missing pages
/// may be in the write-ahead log or the rollback journal; then SQLite decides. The length is read after looking for
/// these: if neither exists by then, the pages that were being written when the header was read are in the file.
fn check_length(path: &Path, header: &[u8], file: &File) -> Result<(), OpenError> {
    let page = match u16::from_be_bytes([header[PAGE_SIZE_AT], header[PAGE_SIZE_AT + 1]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let expected = page * u64::from(header_u32(header, PAGE_COUNT_AT));
    let has_content = |suffix: &str| std::fs::metadata(sibling(&real(path), suffix)).is_ok_and(|file| file.len() > 0);
    if has_content("-wal") || has_content("-journal") {
        return Ok(());
    }
    let length = file.metadata().map_err(|error| OpenError::io(path, error))?.len();
    if length >= expected {
        return Ok(());
    }
    let message = format!("it has {length} bytes of {expected}");
    Err(OpenError::Damaged { path: path.to_owned(), message })
}

/// The path of a file beside a database: the same name with a suffix.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn header_u32(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn is_writable(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem),
    }
}

fn create_folder(path: &Path) -> Result<(), OpenError> {
    match path.parent() {
        Some(folder) if folder != PathBuf::new() => std::fs::create_dir_all(folder)
            .map_err(|error| OpenError::Unwritable { path: path.to_owned(), message: error.to_string() }),
        _ => Ok(()),
    }
}

fn configure(connection: &sql::Connection, options: &Options, waiting: &Waiting) -> sql::Result<()> {
    // The busy timeout does not apply here, and another process may be creating the same database.
    waiting.until_free(|| connection.set_pragma("journal_mode", "WAL"))?;
    connection.set_pragma("synchronous", options.durability.synchronous())?;
    connection.set_pragma("cache_size", -16_000)?;
    // Truncates the log after a burst of writes, so that it does not stay large.
    connection.set_pragma("journal_size_limit", 64 << 20)?;
    connection.sqlite().map_or(Ok(()), |connection| Ok(configure_statement_cache(connection)?))
}
