//! The jobs of a database in a file. Locks, requests to abort and answers are files in a folder beside the database.
//!
//! Only names that this module was given as ids are ever used as a path.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use store::Liveness;
use uuid::Uuid;

use super::life;

/// The folder with the files of all jobs.
pub(super) struct Folder {
    path: PathBuf,
    file: life::Database,
    /// Whether what dead jobs left behind has been cleared away.
    is_clear: AtomicBool,
}

/// What a living job holds.
pub(super) struct Held {
    _locked: File,
    _sign: Option<life::Sign>,
}

impl Folder {
    /// Of the database in this file, which is there. Makes nothing.
    pub(super) fn beside(data: &Path, database: &str) -> io::Result<Folder> {
        let path = beside(&std::fs::canonicalize(data)?).join(database);
        let file = life::Database::of(&std::fs::metadata(data)?);
        Ok(Folder { path, file, is_clear: AtomicBool::new(false) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A lock for a job that is about to run.
    pub(super) fn take(&self) -> io::Result<(Uuid, Held)> {
        loop {
            let name = crate::effects::outside::new_id();
            let file = self.make(&self.of(name, "lock"))?;
            // Until the lock is held, another process may delete the file, because a dead job leaves such a file.
            file.lock()?;
            if is_there(&file, &self.of(name, "lock"))? {
                if !self.is_clear.swap(true, Ordering::Relaxed) {
                    self.clear(name);
                }
                let sign = life::Sign::give(&self.file, name);
                return Ok((name, Held { _locked: file, _sign: sign }));
            }
        }
    }

    /// Removes a job's files. What is left behind is cleared by the next process.
    pub(super) fn give_back(&self, name: Uuid) {
        let _ = std::fs::remove_file(self.of(name, "lock"));
        let _ = std::fs::remove_file(self.of(name, "abort"));
    }

    pub(super) fn liveness(&self, name: Uuid) -> Liveness {
        let without_lock = || if life::is_given(&self.file, name) { Liveness::Alive } else { Liveness::Dead };
        match File::open(self.of(name, "lock")) {
            // Shared, so that two who ask at the same time do not take each other for the owner.
            Ok(file) => match file.try_lock_shared() {
                // Or another file under its name.
                Ok(()) => without_lock(),
                Err(TryLockError::WouldBlock) => Liveness::Alive,
                Err(TryLockError::Error(_)) => Liveness::Unknown,
            },
            Err(error) if error.kind() == ErrorKind::NotFound => without_lock(),
            // It cannot be looked at now, or by this user.
            Err(_) => Liveness::Unknown,
        }
    }

    pub(super) fn ask_to_abort(&self, name: Uuid) -> io::Result<()> {
        // Somebody else, maybe another user, may have asked already.
        if self.is_abort_wanted(name) {
            return Ok(());
        }
        self.make(&self.of(name, "abort")).map(drop)
    }

    pub(super) fn is_abort_wanted(&self, name: Uuid) -> bool {
        self.of(name, "abort").exists()
    }

    /// The file of a job.
    pub(super) fn of(&self, name: Uuid, what: &str) -> PathBuf {
        self.path.join(format!("{}.{what}", name.hyphenated()))
    }

    /// Creates a file that every user may read, and its folder if it is missing.
    fn make(&self, path: &Path) -> io::Result<File> {
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                std::fs::create_dir_all(&self.path)?;
                open()?
            }
            made => made?,
        };
        readable_by_all(&file)?;
        Ok(file)
    }

    /// Removes what dead jobs left behind. Only what is surely ours, and surely dead, is ever removed.
    fn clear(&self, own: Uuid) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some((name, what)) = file.split_once('.') else { continue };
            if what != "lock" && what != "abort" && !what.ends_with(".answer") {
                continue;
            }
            let Ok(name) = Uuid::try_parse(name) else { continue };
            if name != own && !life::is_given(&self.file, name) {
                remove_if_dead(&self.of(name, "lock"), &entry.path());
            }
        }
    }
}

/// Removes a file of a job that is surely dead. The lock is held meanwhile: a job that is just about to take it
/// then finds its file gone, and makes another.
fn remove_if_dead(lock: &Path, file: &Path) {
    let held = match File::open(lock) {
        Ok(held) if held.try_lock().is_ok() => Some(held),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        _ => return,
    };
    // Somebody else may remove it at the same time.
    let _ = std::fs::remove_file(file);
    drop(held);
}

/// The folder with the locks of a database's jobs. It is beside the real file of the database.
fn beside(data: &Path) -> PathBuf {
    match data.parent() {
        Some(folder) if folder.file_name().is_some_and(|name| name == ".flowglass") => folder.join("run"),
        _ => {
            let mut name = data.as_os_str().to_owned();
            name.push(".run");
            name.into()
        }
    }
}

#[cfg(unix)]
pub(super) fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(super) fn readable_by_all(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Whether a file that is open still has its name.
#[cfg(unix)]
fn is_there(file: &File, _path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 0)
}

#[cfg(not(unix))]
fn is_there(_file: &File, path: &Path) -> io::Result<bool> {
    Ok(path.exists())
}
