//! Which process runs a request, and whether it still lives (decision 11).
//!
//! A process holds an operating-system lock on a file of its own while it lives; the lock goes
//! with the process however it dies. A request names the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// This process's lock.
pub(crate) struct Owner {
    name: String,
    folder: PathBuf,
    _locked: File,
}

impl Owner {
    /// Takes a lock in the folder, and clears away those of dead processes.
    pub(crate) fn new(folder: &Path) -> Result<Owner, Fault> {
        std::fs::create_dir_all(folder)?;
        let name = uuid::Uuid::now_v7().to_string();
        let file = OpenOptions::new().create_new(true).write(true).open(path(folder, &name))?;
        file.lock()?;
        for entry in std::fs::read_dir(folder)?.flatten() {
            // Only what is surely ours is ever removed.
            let file = entry.file_name().to_string_lossy().into_owned();
            let other = file.strip_suffix(".lock").filter(|other| uuid::Uuid::try_parse(other).is_ok());
            if let Some(other) = other.filter(|other| *other != name)
                && !is_locked(folder, other)
            {
                // Another process may clear it at the same time.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(Owner { name, folder: folder.to_owned(), _locked: file })
    }

    /// The name requests carry.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the process of that name lives.
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        name == self.name || is_locked(&self.folder, name)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What is left behind is cleared by the next process.
        let _ = std::fs::remove_file(path(&self.folder, &self.name));
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

fn is_locked(folder: &Path, name: &str) -> bool {
    match File::open(path(folder, name)) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}
