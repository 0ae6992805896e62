//! Reading a database without write access: in a folder of another user, a disk image, a read-only file system.
//!
//! In WAL mode SQLite reads a database only if it can use the shared-memory index of the log (`-shm`). If there is no
//! log, the file is complete and is opened with `immutable=1`. If there is a log without a usable index, or the format
//! is an older one, a copy in a temporary folder is read. Nothing may be created or changed in the database's folder
//! (ARCHITECTURE §7.7).
//!
//! Somebody else may write to it all the same. SQLite tells nothing of that for a file that is immutable or a copy, so
//! a [`Stamp`] tells whether what was opened is still what lies there.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use crate::file::migrate;
use crate::file::open::{self, Access, Found, sibling};
use crate::row::error::OpenError;

/// How to read a database that cannot be written to.
pub(crate) enum Readable {
    /// In its place.
    Here,
    /// From a copy, in a folder that is deleted when this value is dropped.
    Copy(PathBuf, TempDir),
}

/// Finds out how a database can be read, and copies it if necessary. With `create`, a missing one counts as empty.
pub(crate) fn readable(path: &Path, create: bool) -> Result<Readable, OpenError> {
    match open::examine(path)? {
        Found::Nothing if create => {
            let folder = folder(path)?;
            return Ok(Readable::Copy(folder.path().join("empty.db"), folder));
        }
        Found::Nothing => return Err(OpenError::Missing { path: path.to_owned() }),
        Found::Flowglass => {}
    }
    let is_current = migrate::is_current(open::format_of(path)?);
    if is_current && (!has_log(path) || has_index(path)) {
        return Ok(Readable::Here);
    }
    let folder = folder(path)?;
    let copy = folder.path().join(path.file_name().unwrap_or("copy.db".as_ref()));
    for suffix in ["", "-wal"] {
        let (from, to) = (sibling(path, suffix), sibling(&copy, suffix));
        if from.exists() {
            std::fs::copy(&from, &to).and_then(|_| make_writable(&to)).map_err(|error| OpenError::io(path, error))?;
        }
    }
    Ok(Readable::Copy(copy, folder))
}

/// What lies at a path while SQLite does not look: the length and the time of change of the database and of its log.
#[derive(PartialEq)]
pub(crate) struct Stamp([Option<(u64, Option<SystemTime>)>; 2]);

impl Stamp {
    /// Of now. It is taken before the database is opened, so that a change in between counts.
    pub(crate) fn of(path: &Path) -> Stamp {
        let one = |suffix| std::fs::metadata(sibling(path, suffix)).ok().map(|file| (file.len(), file.modified().ok()));
        Stamp(["", "-wal"].map(one))
    }

    fn has_log(&self) -> bool {
        self.0[1].is_some()
    }
}

/// What was opened, where SQLite does not tell that it changed; nothing where it is read with its log, which does.
pub(crate) struct Unwatched(Option<(PathBuf, Stamp)>);

impl Unwatched {
    /// What is read, from where the stamp was taken.
    pub(crate) fn new(path: &Path, before: Stamp, readable: &Readable) -> Unwatched {
        let is_watched = matches!(readable, Readable::Here) && before.has_log();
        Unwatched((!is_watched).then(|| (path.to_owned(), before)))
    }

    /// Whether something else lies there now.
    pub(crate) fn is_outdated(&self) -> bool {
        self.0.as_ref().is_some_and(|(path, before)| Stamp::of(path) != *before)
    }
}

/// Whether a database has a write-ahead log.
pub(crate) fn has_log(path: &Path) -> bool {
    sibling(path, "-wal").exists()
}

/// Whether the log's shared-memory index exists and can be used without write access.
fn has_index(path: &Path) -> bool {
    sibling(path, "-shm").exists()
        && open::reader(&path.into(), Access::ReadOnly)
            .is_ok_and(|connection| connection.query_row("SELECT 1 FROM sqlite_master", (), |_| Ok(())).is_ok())
}

/// The URI that opens a file as one that no process changes.
pub(crate) fn immutable(path: &Path) -> String {
    address(path, "immutable=1")
}

/// The URI of a file with a parameter.
pub(crate) fn address(path: &Path, parameter: &str) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => address.push(*byte as char),
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address + "?" + parameter
}

fn folder(path: &Path) -> Result<TempDir, OpenError> {
    TempDir::with_prefix("flowglass-").map_err(|error| OpenError::io(path, error))
}

/// Makes a copy writable: `std::fs::copy` copies the mode of the read-only original.
fn make_writable(file: &Path) -> std::io::Result<()> {
    let mut permissions = std::fs::metadata(file)?.permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    std::fs::set_permissions(file, permissions)
}
