//! The lock file of an import: while its process lives, nobody takes away what it has brought so far.

use crate::row::error::Error;
use crate::row::error::OpenError;
use crate::transfer::pieces::Pieces;
use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// The lock that tells that an import is under way.
pub(super) struct Guard {
    path: PathBuf,
    _locked: File,
}

impl Guard {
    /// Takes a lock, and answers the name of the import.
    pub(super) fn new(database: &Path, pieces: &Pieces) -> Result<(Arc<str>, Guard), Error> {
        let sql = "SELECT lower(hex(randomblob(8)))";
        let import: String = pieces.read(|connection| Ok(connection.query_row(sql, (), |row| row.get(0))?))?;
        let path = lock_path(database, &import);
        let locked = || -> std::io::Result<File> {
            let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let locked = locked().map_err(|error| OpenError::io(&path, error))?;
        Ok((import.into(), Guard { path, _locked: locked }))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // One that is left behind is removed with what it stood for.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Beside the real file, by whatever path it was opened.
fn lock_path(database: &Path, import: &str) -> PathBuf {
    let mut name = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    name.push(format!(".import-{import}"));
    name.into()
}

/// Imports in the queue whose process is gone, and their ranges.
pub(crate) fn dead(pieces: &Pieces) -> Result<Vec<(String, i64, i64)>, Error> {
    let mut imports = pieces.read(|connection| {
        let mut statement = connection.prepare_cached("SELECT import, n, last FROM removal WHERE kind = 'range'")?;
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    })?;
    imports.retain(|(import, ..)| {
        // No other name was ever given.
        if !import.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return true;
        }
        let path = lock_path(pieces.path(), import);
        match File::open(&path).map(|file| file.try_lock_shared()) {
            Ok(Ok(())) => {
                let _ = std::fs::remove_file(&path);
                true
            }
            Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) => false,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    });
    Ok(imports)
}
