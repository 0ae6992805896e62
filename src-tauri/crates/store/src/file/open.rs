//! Opening a database: whose file it is, which format, and with which settings.
//!
//! A file that is refused is not written to, not even beside it: identity and format are read from
//! the bytes of its header first. Only then may SQLite touch it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::event::Event;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::file::{migrate, read_only};
use crate::row::error::OpenError;
use crate::row::waiting::{BUSY_TIMEOUT, OnBusy, Waiting};

/// "FGLS": marks our databases among all SQLite files.
pub(crate) const APPLICATION_ID: u32 = 0x4647_4C53;
/// How long is waited until the database can be read: another process may make or recover it.
const READABLE_TIMEOUT: Duration = Duration::from_secs(5);
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// SQLite's fixed header; numbers in it are big-endian.
const HEADER: usize = 100;
const PAGE_SIZE_AT: usize = 16;
const PAGE_COUNT_AT: usize = 28;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

/// What an answered commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A killed process (`synchronous` NORMAL).
    #[default]
    Process,
    /// A lost power supply (`synchronous` FULL).
    Power,
}

/// How to open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What an answered commit survives.
    pub durability: Durability,
    /// Whether to make a database, and its folder, where there is none.
    pub create: bool,
    /// Which jobs live.
    pub owners: Owners,
    /// Who is told when another process keeps the database locked for long.
    pub on_busy: OnBusy,
    /// Who is told of each event that is read and is damaged.
    pub on_damaged: OnDamaged,
    /// Whether what an earlier process was about to remove is left as it is.
    pub only_look: bool,
    /// Whether it may be changed.
    pub access: Access,
}

/// Whether a database may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It is made, migrated and written to.
    #[default]
    ReadWrite,
    /// Its file and folder stay exactly as they are; appends fail.
    ReadOnly,
}

/// What is called with the request and the event when one that is read is damaged.
#[derive(Clone)]
pub struct OnDamaged(Arc<TellDamage>);

type TellDamage = dyn Fn(&str, &Event) + Send + Sync;

impl OnDamaged {
    /// Calls this function.
    pub fn new(tell: impl Fn(&str, &Event) + Send + Sync + 'static) -> OnDamaged {
        OnDamaged(Arc::new(tell))
    }

    /// Tells of those among these events of a request.
    pub(crate) fn look_at(&self, request: &str, events: &[Event]) {
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

/// Whether the job lives that a request names as its owner (ARCHITECTURE §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It does.
    Alive,
    /// It does not, for certain: only then may somebody else take the request over.
    Dead,
    /// Nobody can tell, so it must be taken to live.
    Unknown,
}

/// Tells whether the job lives that a request names as its owner. A store that was not told how
/// takes all of them to live.
#[derive(Clone)]
pub struct Owners(Arc<dyn Fn(&str) -> Liveness + Send + Sync>);

impl Owners {
    /// Asks this function.
    pub fn new(liveness: impl Fn(&str) -> Liveness + Send + Sync + 'static) -> Self {
        Owners(Arc::new(liveness))
    }

    pub(crate) fn liveness(&self, owner: &str) -> Liveness {
        (self.0)(owner)
    }

    /// Whether a job must be taken to live: so must one of which nobody can tell.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        self.liveness(owner) != Liveness::Dead
    }
}

impl Default for Owners {
    fn default() -> Self {
        Owners::new(|_| Liveness::Alive)
    }
}

impl std::fmt::Debug for Owners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owners")
    }
}

/// Opens the writing connection. An empty file counts as none: it is what a crash between making
/// a file and its tables leaves. With [`Access::ReadOnly`] it is one that cannot write.
pub(crate) fn open(path: &Path, options: &Options, waiting: &Waiting) -> Result<Connection, OpenError> {
    if options.access == Access::ReadOnly {
        return reader(path, options.access);
    }
    match examine(path)? {
        Found::Ours => check_writable(path)?,
        Found::Nothing if options.create => {
            check_writable(path)?;
            make_folder(path)?;
        }
        Found::Nothing => {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
    }
    let explain = |error: &rusqlite::Error| OpenError::from_sqlite(path, error);
    // Without SQLITE_OPEN_URI: a path is a path, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| explain(&error))?;
    connection.busy_timeout(READABLE_TIMEOUT).map_err(|error| explain(&error))?;
    migrate::prepare(&mut connection, path, waiting)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| explain(&error))?;
    configure(&connection, options, waiting).map_err(|error| explain(&error))?;
    Ok(connection)
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path, access: Access) -> Result<Connection, OpenError> {
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
    settle(&connection).map_err(explain)?;
    Ok(connection)
}

/// Keeps statements prepared: many of them, and each whatever values it is asked with. SQLite would
/// otherwise plan every look-up of a range again.
pub(crate) fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// What is at a path.
pub(crate) enum Found {
    /// No file, or an empty one.
    Nothing,
    /// A database of ours, of a format that is known.
    Ours,
}

/// Looks at a file without touching it.
pub(crate) fn examine(path: &Path) -> Result<Found, OpenError> {
    let path_buf = || path.to_owned();
    // A pipe or a device is not even opened: that may never end.
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
    let mut header = Vec::with_capacity(HEADER);
    file.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(|error| OpenError::io(path, error))?;
    if !header.is_empty() {
        if header.len() < HEADER || !header.starts_with(MAGIC) {
            return Err(OpenError::NotADatabase { path: path_buf() });
        }
        // Our first transaction writes both numbers into the file itself, before it is put in WAL
        // mode, so they can be trusted without looking into a log beside it.
        if number(&header, APPLICATION_ID_AT) != APPLICATION_ID {
            return Err(OpenError::Foreign { path: path_buf() });
        }
        migrate::check_format(path, number(&header, USER_VERSION_AT))?;
        check_length(path, &header, &file)?;
    }
    Ok(if header.is_empty() { Found::Nothing } else { Found::Ours })
}

/// Refuses a file that cannot be written to.
fn check_writable(path: &Path) -> Result<(), OpenError> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    // The mode bits are asked too, because the superuser may write to anything.
    if metadata.permissions().readonly() || !is_writable(path) {
        return Err(OpenError::ReadOnly { path: path.to_owned() });
    }
    Ok(())
}

/// The format of a database of ours, as its header says.
pub(crate) fn format_of(path: &Path) -> Result<u32, OpenError> {
    let mut header = [0; HEADER];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).map_err(|error| OpenError::io(path, error))?;
    Ok(number(&header, USER_VERSION_AT))
}

/// Refuses a file that is shorter than its header says. After a crash, and while another process commits, its
/// missing pages may still be in the log or journal beside it; then SQLite knows better. The length is read last:
/// where neither is there any more, whatever was being written when the header was read is in the file.
fn check_length(path: &Path, header: &[u8], file: &File) -> Result<(), OpenError> {
    let page = match u16::from_be_bytes([header[PAGE_SIZE_AT], header[PAGE_SIZE_AT + 1]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let expected = page * u64::from(number(header, PAGE_COUNT_AT));
    let has_content = |suffix: &str| std::fs::metadata(beside(path, suffix)).is_ok_and(|file| file.len() > 0);
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

/// A file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn number(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn is_writable(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem),
    }
}

fn make_folder(path: &Path) -> Result<(), OpenError> {
    match path.parent() {
        Some(folder) if folder != PathBuf::new() => std::fs::create_dir_all(folder)
            .map_err(|error| OpenError::Unwritable { path: path.to_owned(), message: error.to_string() }),
        _ => Ok(()),
    }
}

fn configure(connection: &Connection, options: &Options, waiting: &Waiting) -> rusqlite::Result<()> {
    let synchronous = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    // SQLite does not wait for others there, who may be making the same database at this moment.
    waiting.until_free(|| connection.pragma_update(None, "journal_mode", "WAL"))?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    // A burst must not leave its log behind for good.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    settle(connection)
}
