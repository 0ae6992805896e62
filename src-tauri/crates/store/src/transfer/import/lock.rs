//! The lock file of an import, which shows that its process is alive, so that its rows are not removed.

use crate::row::error::Error;
use crate::row::error::OpenError;
use crate::transfer::sliced_work::SlicedWork;
use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// A locked file, deleted when this value is dropped.
pub(super) struct ImportLock {
    path: PathBuf,
    _locked: File,
}

impl ImportLock {
    /// Chooses a random name for an import, and creates and locks its file.
    pub(super) fn new(database: &Path, work: &SlicedWork) -> Result<(Arc<str>, ImportLock), Error> {
        let sql = "SELECT lower(hex(randomblob(8)))";
        let import: String = work.read(|connection| Ok(connection.query_row(sql, (), |row| row.get(0))?))?;
        let path = lock_path(database, &import);
        let locked = || -> std::io::Result<File> {
            let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let locked = locked().map_err(|error| OpenError::io(&path, error))?;
        Ok((import.into(), ImportLock { path, _locked: locked }))
    }
}

impl Drop for ImportLock {
    fn drop(&mut self) {
        // If this fails, the file is deleted when the import's rows are removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The lock file's path: beside the database's real file, so that processes that use different links agree.
fn lock_path(database: &Path, import: &str) -> PathBuf {
    let mut name = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    name.push(format!(".import-{import}"));
    name.into()
}

/// The queued imports whose process is gone: name, and ids of the boundary events.
pub(crate) fn abandoned_imports(work: &SlicedWork) -> Result<Vec<(String, i64, i64)>, Error> {
    let mut imports = work.read(|connection| {
        let mut statement = connection.prepare_cached("SELECT import, n, last FROM removal WHERE kind = 'range'")?;
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    })?;
    imports.retain(|(import, ..)| {
        // Names of imports are hexadecimal. Any other is damage, and must not become a path.
        if !import.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return true;
        }
        let path = lock_path(work.path(), import);
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
