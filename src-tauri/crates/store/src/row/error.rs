//! Errors of opening, reading and writing.
//!
//! Messages are for users: they name the file and what to do. No conversion may drop the cause.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use engine::log::AppendError;
use rusqlite::ErrorCode;

use crate::sql;

/// Why a database was not opened. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such file, and `create` was not set.
    #[error("{} does not exist: the first run makes it, or name another database with --data", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Another kind of file, or one whose header is damaged.
    #[error(
        "{} is not a SQLite database: move it away to begin a new one, or name another database with --data",
        .path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A SQLite database of another program.
    #[error(
        "{} is a SQLite database, but not one of Flowglass: name another database with --data, or move it away",
        .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer Flowglass.
    #[error(
        "{} has format {found}, newer than format {supported} of this Flowglass: update Flowglass to open it",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format this version knows.
        supported: u32,
    },
    /// A Flowglass database of which a part is missing or overwritten.
    #[error(
        "{} is a damaged Flowglass database ({message}): put a copy of it in its place, or move it away to begin a \
         new one",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// No write access to the file.
    #[error(
        "{} is read-only, and Flowglass needs to write to it: make it writable, or name another database with --data",
        .path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No write access to its folder.
    #[error(
        "{} cannot be written ({message}): make its folder writable, or name another database with --data",
        .path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What happened.
        message: String,
    },
    /// The file has several names.
    #[error(
        "{} has {names} names (hard links), and under each SQLite would keep a log of its own: remove the other names, \
         or copy the file and use the copy",
        .path.display()
    )]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        names: u64,
    },
    /// Another process has the database open, and its log or the index of the log was removed.
    #[error(
        "{} was removed while another process uses the database: end that process first, so that nothing is lost",
        .file.display()
    )]
    LogRemoved {
        /// The file that is not there.
        file: PathBuf,
    },
    /// Another process keeps it locked.
    #[error(
        "{} is locked by another process: end that process, or try again when it is done",
        .path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A server that cannot be used.
    #[error("{} cannot be used ({message}): {hint}", .place.display())]
    Server {
        /// Its address, without the password.
        place: PathBuf,
        /// What happened.
        message: String,
        /// What to do.
        hint: Cow<'static, str>,
    },
    /// A server on which there are no tables yet, and `create` was not set.
    #[error("{} has no tables of Flowglass yet: they are made by the first run", .place.display())]
    NoTables {
        /// Its address, without the password.
        place: PathBuf,
    },
    /// A server on which the user may only read.
    #[error("{} is read-only ({why}): {hint}", .place.display())]
    OnlyReads {
        /// Its address, without the password.
        place: PathBuf,
        /// Which right is missing.
        why: String,
        /// Who gives it.
        hint: String,
    },
    /// Another error of the operating system or the disk.
    #[error(
        "{} cannot be opened ({message}): check the disk and the rights of the file, or name another database with \
         --data",
        .path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        message: String,
    },
}

impl OpenError {
    /// Whether the file is in order, and was refused because of its format, its names, or what uses it.
    pub fn is_refusal(&self) -> bool {
        matches!(self, OpenError::Newer { .. } | OpenError::HardLinked { .. } | OpenError::LogRemoved { .. })
    }

    pub(crate) fn io(path: &Path, error: impl ToString) -> Self {
        OpenError::Io { path: path.to_owned(), message: error.to_string() }
    }

    /// The same of either database.
    pub(crate) fn from_sql(place: &Path, error: &sql::Error) -> Self {
        match error {
            sql::Error::Sqlite(error) => OpenError::from_sqlite(place, error),
            error => OpenError::Server { place: place.to_owned(), message: error.to_string(), hint: error.hint() },
        }
    }

    /// The error that corresponds to SQLite's error code.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged { path, message: "its pages do not fit".to_owned() },
            Some(ErrorCode::CannotOpen) => OpenError::Unwritable { path, message: error.to_string() },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => OpenError::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { path },
            _ => OpenError::Io { path, message: error.to_string() },
        }
    }
}

/// A read or a write that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From the database.
    #[error("database: {0}")]
    Sql(#[from] sql::Error),
    /// The database cannot be used just now, or any more.
    #[error("{}: {what}: {hint}", .path.display())]
    Unusable {
        /// The file, or the address of the server.
        path: PathBuf,
        /// Why.
        what: String,
        /// What helps.
        hint: Cow<'static, str>,
    },
    /// A stored value that cannot be read.
    #[error("the database holds a damaged value: {0}")]
    Damaged(String),
    /// A connection could not be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The file was removed or replaced since it was opened.
    #[error(
        "{} was removed or replaced while it was in use, and nothing is stored since: put the file back, or start \
         Flowglass again to begin a new one",
        .0.display()
    )]
    Gone(PathBuf),
    /// The log, or its index, was removed or replaced since the database was opened.
    #[error(
        "{} was removed or replaced while it was in use, and nothing is stored since: end every Flowglass that uses \
         the database, then start again; what was stored before is in the database",
        .0.display()
    )]
    LogGone(PathBuf),
    /// The operating system gave no thread.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
    /// The writing thread has ended, or the work was told to stop.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The same with its file and with what helps, where the disk, another process or the file itself made it.
    pub(crate) fn at(self, path: &Path) -> Error {
        match &self {
            Error::Sql(failure) => match failure.of_file() {
                Some((what, hint)) => Error::Unusable { path: path.to_owned(), what, hint },
                None => self,
            },
            _ => self,
        }
    }

    /// Whether the database cannot be used: the disk is full or failed, the file is locked, damaged, may not be written
    /// or opened any more, or was removed.
    pub fn is_of_disk(&self) -> bool {
        match self {
            Error::Sql(error) => error.is_disk_full() || error.is_disk_failure() || error.is_read_only(),
            Error::Unusable { .. } | Error::Open(_) | Error::Gone(_) | Error::LogGone(_) => true,
            _ => false,
        }
    }

    /// Whether another connection holds a lock.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Error::Sql(error) if error.is_busy())
    }

    /// Whether it is not known what became of a commit.
    pub(crate) fn is_unknown_commit(&self) -> bool {
        matches!(self, Error::Sql(sql::Error::CommitUnknown))
    }

    /// Whether the session with the server was cut off before it committed: then nothing was stored, and the same work
    /// can be done again.
    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self, Error::Sql(error) if error.is_cut_off())
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Sql(error.into())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Error::Damaged(error.to_string())
    }
}

impl From<crate::sql::FromSqlError> for Error {
    fn from(error: crate::sql::FromSqlError) -> Self {
        Error::Damaged(error.to_string())
    }
}

impl From<Error> for AppendError {
    /// Says what was kept, beside what a user can do.
    fn from(error: Error) -> Self {
        const KEPT: &str = "nothing after the last stored step was kept";
        AppendError::Storage(match &error {
            Error::Unusable { path, what, hint } => format!("{}: {what}; {KEPT}: {hint}", path.display()),
            Error::Sql(failure @ sql::Error::CommitUnknown) => failure.to_string(),
            Error::Sql(failure) if failure.is_disk_full() => format!("the disk is full ({failure}); {KEPT}"),
            Error::Sql(failure) if failure.is_busy() => {
                format!("another process keeps the database locked; {KEPT}: end it, or try again when it is done")
            }
            Error::Sql(failure) if failure.is_read_only() => {
                format!("the database became read-only; {KEPT}: {}", failure.hint())
            }
            Error::Sql(failure) if failure.is_disk_failure() => format!("the disk failed ({failure}); {KEPT}"),
            Error::Sql(failure) => format!("the database refused the write ({failure}); {KEPT}"),
            other => other.to_string(),
        })
    }
}

/// An error that can say where it happened.
pub(crate) trait AtFile {
    /// See [`Error::at`].
    fn at_file(self, path: &Path) -> Self;
}

impl AtFile for Error {
    fn at_file(self, path: &Path) -> Self {
        self.at(path)
    }
}
