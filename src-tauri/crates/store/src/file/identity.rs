//! Which file a path names.
//!
//! A file that is removed or replaced stays writable for whoever has it open, and SQLite goes on
//! answering that all is well. Nobody would ever find what was written then.

use std::path::Path;

/// A file, by what the system knows it by; nothing where it cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// The file that is there now.
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
