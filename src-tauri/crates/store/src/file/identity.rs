//! Detects that a file of the database was removed or replaced while it is open.
//!
//! On Unix such a file stays writable through open descriptors, and SQLite reports no error. Writes to a removed
//! database are lost. If its log (`-wal`) or the log's index (`-shm`) was removed, another process reads an older state
//! and both overwrite each other's pages.

use std::path::{Path, PathBuf};

use crate::file::open::{real, sibling};
use crate::row::error::Error;

/// The identities of the database, its log and the log's index when the database was opened.
#[derive(Clone, Debug)]
pub(crate) struct OpenFiles {
    path: PathBuf,
    identities: [Identity; SUFFIXES.len()],
}

/// The endings of their names after the name of the database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

impl OpenFiles {
    /// Call it after a connection has read the database, so that all files exist.
    pub(crate) fn of(path: &Path) -> OpenFiles {
        let path = real(path);
        OpenFiles { identities: SUFFIXES.map(|suffix| Identity::of(&sibling(&path, suffix))), path }
    }

    /// An error if one of them was removed or replaced.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.replaced() {
            Some(Replaced::Database(file)) => Err(Error::Gone(file)),
            Some(Replaced::Log(file)) => Err(Error::LogGone(file)),
            None => Ok(()),
        }
    }

    /// Returns the first file that was removed or replaced.
    pub(crate) fn replaced(&self) -> Option<Replaced> {
        let files = SUFFIXES.iter().zip(&self.identities);
        let (suffix, _) = { files }.find(|(suffix, then)| Identity::of(&sibling(&self.path, suffix)) != **then)?;
        let file = sibling(&self.path, suffix);
        Some(if suffix.is_empty() { Replaced::Database(file) } else { Replaced::Log(file) })
    }
}

/// A file that was removed or replaced.
pub(crate) enum Replaced {
    /// The database itself.
    Database(PathBuf),
    /// Its log, or the index of the log.
    Log(PathBuf),
}

impl Replaced {
    /// Its path.
    pub(crate) fn into_path(self) -> PathBuf {
        match self {
            Replaced::Database(file) | Replaced::Log(file) => file,
        }
    }
}

/// The device and inode of a file; none if it cannot be read, or not on Unix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity(Option<(u64, u64)>);

impl Identity {
    /// The file that the path names now.
    #[cfg(unix)]
    fn of(path: &Path) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity(std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino())))
    }

    /// Windows does not allow removing an open file.
    #[cfg(not(unix))]
    fn of(_path: &Path) -> Identity {
        Identity(None)
    }
}
