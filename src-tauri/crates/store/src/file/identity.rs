//! Detects that the database file was removed or replaced while it is open.
//!
//! On Unix such a file stays writable through open descriptors, and SQLite reports no error; but what is written then
//! is lost.

use std::path::Path;

/// The device and inode of a file; none if it cannot be read, or not on Unix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// The file that the path names now.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity(std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino())))
    }

    /// Windows does not let an open file be removed.
    #[cfg(not(unix))]
    pub(crate) fn of(_path: &Path) -> Identity {
        Identity(None)
    }
}
