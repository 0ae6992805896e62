//! A database in a place that cannot be written to: a folder of somebody else, an image, a file system that is
//! mounted so.
//!
//! SQLite reads a database only where it can share the index of its write-ahead log with whoever writes. Where there
//! is no log, the file is all there is, and nobody can change it: then it is read as it lies. Where a log lies beside
//! it whose index cannot be had, or its format is an older one, a copy in a temporary folder is read. Must not make or
//! change anything where the database lies (ARCHITECTURE §7.7).

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::file::migrate;
use crate::file::open::{self, Access, Found, beside};
use crate::row::error::OpenError;

/// Where to read a database that cannot be written.
pub(crate) enum Readable {
    /// Where it lies.
    Here,
    /// A copy, in a folder that goes with this value.
    Copy(PathBuf, TempDir),
}

/// Finds out how a database can be read; one that is not there is an empty one if `create` says so.
pub(crate) fn readable(path: &Path, create: bool) -> Result<Readable, OpenError> {
    match open::examine(path)? {
        Found::Nothing if create => {
            let folder = folder(path)?;
            return Ok(Readable::Copy(folder.path().join("empty.db"), folder));
        }
        Found::Nothing => return Err(OpenError::Missing { path: path.to_owned() }),
        Found::Ours => {}
    }
    let is_current = migrate::is_current(open::format_of(path)?);
    if is_current && (!has_log(path) || has_index(path)) {
        return Ok(Readable::Here);
    }
    let folder = folder(path)?;
    let copy = folder.path().join(path.file_name().unwrap_or("copy.db".as_ref()));
    for suffix in ["", "-wal"] {
        let (from, to) = (beside(path, suffix), beside(&copy, suffix));
        if from.exists() {
            std::fs::copy(&from, &to).and_then(|_| make_writable(&to)).map_err(|error| OpenError::io(path, error))?;
        }
    }
    Ok(Readable::Copy(copy, folder))
}

/// Whether a write-ahead log lies beside a database.
pub(crate) fn has_log(path: &Path) -> bool {
    beside(path, "-wal").exists()
}

/// Whether the index of a database's log is there and can be used by who may only read.
fn has_index(path: &Path) -> bool {
    beside(path, "-shm").exists()
        && open::reader(path, Access::ReadOnly)
            .is_ok_and(|connection| connection.query_row("SELECT 1 FROM sqlite_master", (), |_| Ok(())).is_ok())
}

/// The address of a file that nobody changes.
pub(crate) fn immutable(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => address.push(*byte as char),
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address + "?immutable=1"
}

fn folder(path: &Path) -> Result<TempDir, OpenError> {
    TempDir::with_prefix("flowglass-").map_err(|error| OpenError::io(path, error))
}

/// The mode of a file that cannot be written comes with its copy.
fn make_writable(file: &Path) -> std::io::Result<()> {
    let mut permissions = std::fs::metadata(file)?.permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    std::fs::set_permissions(file, permissions)
}
