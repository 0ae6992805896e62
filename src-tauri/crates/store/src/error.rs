//! Why a database does not open, and why a read fails.

use std::path::PathBuf;

/// A database that cannot be opened; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Some other kind of file.
    #[error("{} is not a SQLite database", .0.display())]
    NotADatabase(PathBuf),
    /// A SQLite database of some other program.
    #[error("{} is a SQLite database, but not one of Flowglass", .0.display())]
    Foreign(PathBuf),
    /// Written by a newer Flowglass.
    #[error("{} has format {found}, which is newer than format {supported} of this Flowglass: update Flowglass to open it", .file.display())]
    Newer {
        /// The database.
        file: PathBuf,
        /// Its format.
        found: i64,
        /// The newest this version knows.
        supported: i64,
    },
    /// No write access.
    #[error("{} is read-only: Flowglass needs to write to it", .0.display())]
    ReadOnly(PathBuf),
    /// Another process holds it.
    #[error("{} is locked by another process", .0.display())]
    Locked(PathBuf),
    /// The operating system or the disk.
    #[error("{} cannot be opened: {message}", .file.display())]
    Io {
        /// The database.
        file: PathBuf,
        /// What happened.
        message: String,
    },
}

/// A read or a write that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From SQLite.
    #[error("database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value that cannot be read.
    #[error("the database holds a damaged value: {0}")]
    Damaged(String),
    /// A reader could not be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Error::Damaged(error.to_string())
    }
}
