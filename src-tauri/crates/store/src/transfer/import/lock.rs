//! The lock file of an import, which shows that its process is alive, so that its rows are not removed.

use crate::file::open::{self, Access};
use crate::row::error::Error;
use crate::row::error::OpenError;
use crate::sql::Connection;
use crate::transfer::sliced_work::SlicedWork;
use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Held while an import runs.
pub(super) enum ImportLock {
    /// A locked file, deleted when this value is dropped.
    File(PathBuf, #[expect(dead_code, reason = "it is locked while it is open")] File),
    /// A session that holds a lock of the server.
    Server(#[expect(dead_code, reason = "the lock ends with the session")] Box<Connection>),
}

impl ImportLock {
    /// Chooses a random name for an import, and takes its lock.
    pub(super) fn new(work: &SlicedWork) -> Result<(Arc<str>, ImportLock), Error> {
        let import =
            format!("{:016x}", std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), work.place().path()));
        let Some(database) = work.place().file() else {
            let session = open::reader(work.place(), Access::ReadWrite)?;
            session.query_row("SELECT pg_advisory_lock(hashtext(?1))", (&import,), |_| Ok(()))?;
            return Ok((import.into(), ImportLock::Server(Box::new(session))));
        };
        let path = lock_path(database, &import);
        let locked = || -> std::io::Result<File> {
            loop {
                let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
                file.lock()?;
                // Another process may have taken it for one that was left behind, before it was locked.
                if path.exists() {
                    return Ok(file);
                }
            }
        };
        let locked = locked().map_err(|error| OpenError::io(&path, error))?;
        Ok((import.into(), ImportLock::File(path, locked)))
    }
}

impl Drop for ImportLock {
    fn drop(&mut self) {
        if let ImportLock::File(path, _) = self {
            // If this fails, the file is deleted when the import's rows are removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The lock file's path: beside the database's real file, so that processes that use different links agree.
fn lock_path(database: &Path, import: &str) -> PathBuf {
    let mut name = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    name.push(format!(".import-{import}"));
    name.into()
}

/// Removes the lock files of processes that died before they had reserved anything: the queue does not know those.
fn remove_left(database: &Path) {
    let begin = lock_path(database, "");
    let (Some(folder), Some(begin)) = (begin.parent(), begin.file_name()) else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes()) {
            continue;
        }
        // What is locked belongs to an import that goes on. The lock is held until the file is gone.
        if let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The queued imports whose process is gone: name, and ids of the boundary events.
pub(crate) fn abandoned_imports(work: &SlicedWork) -> Result<Vec<(String, i64, i64)>, Error> {
    let mut imports = work.read(|connection| {
        let mut statement = connection.prepare_cached("SELECT import, n, last FROM removal WHERE kind = 'range'")?;
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    })?;
    let Some(database) = work.place().file() else {
        let session = open::reader(work.place(), Access::ReadWrite)?;
        let mut abandoned = Vec::new();
        for import in imports {
            // Given back with the session.
            let sql = "SELECT pg_try_advisory_lock(hashtext(?1))";
            if session.query_row(sql, (&import.0,), |row| row.get(0))? {
                abandoned.push(import);
            }
        }
        return Ok(abandoned);
    };
    remove_left(database);
    imports.retain(|(import, ..)| {
        // Names of imports are hexadecimal. Any other is damage, and must not become a path.
        if !import.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return true;
        }
        let path = lock_path(database, import);
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
