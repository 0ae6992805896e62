//! Which process runs a request, whether it still lives (decision 11), and how it hears of a wish to
//! abort a request.
//!
//! A process holds an operating-system lock on a file of its own while it lives; the lock goes with
//! the process however it dies. A request names the file. A wish is an empty file beside it: it needs
//! no room in the database, and is gone with its owner.
//!
//! Files are made and cleared away under one lock of the folder. Without it, a file could be cleared,
//! or be found unlocked, between its making and its locking.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// What the folder's own lock is called: no UUID, so never cleared.
const FOLDER_LOCK: &str = "folder.lock";

/// This process's lock.
pub(crate) struct Owner {
    name: String,
    folder: PathBuf,
    _locked: File,
}

impl Owner {
    /// Takes a lock in the folder, and clears away those of dead processes.
    pub(crate) fn new(folder: &Path) -> io::Result<Owner> {
        std::fs::create_dir_all(folder)?;
        let alone = lock_folder(folder)?;
        let name = uuid::Uuid::now_v7().to_string();
        let file = OpenOptions::new().create_new(true).write(true).open(path(folder, &name))?;
        file.lock()?;
        clear(folder, &name)?;
        drop(alone);
        Ok(Owner { name, folder: folder.to_owned(), _locked: file })
    }

    /// The name requests carry.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the process of that name lives.
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        name == self.name || is_alive(&self.folder, name)
    }

    /// Tells the process of that name that a request of its own is to be aborted.
    pub(crate) fn ask_to_abort(&self, name: &str, request: &str) -> io::Result<()> {
        File::create(wish(&self.folder, name, request)).map(drop)
    }

    /// Where this process finds a wish to abort a request, from now on.
    pub(crate) fn wish(&self, request: &str) -> Wish {
        let wish = Wish(wish(&self.folder, &self.name, request));
        wish.forget();
        wish
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What is left behind is cleared by the next process.
        let _ = std::fs::remove_file(path(&self.folder, &self.name));
    }
}

/// Whether the process of that name lives, as the locks of a folder tell.
pub(crate) fn is_alive(folder: &Path, name: &str) -> bool {
    match File::open(path(folder, name)) {
        // Shared, so that two who ask at the same time do not take each other for the owner.
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// A place where a wish to abort one request may appear.
pub(crate) struct Wish(PathBuf);

impl Wish {
    /// Whether somebody wants the request aborted.
    pub(crate) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// A wish for an earlier part of the request must not end a later one. Mostly there is none.
    fn forget(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        self.forget();
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// A request's id may hold any letters; a file's name may not.
fn wish(folder: &Path, name: &str, request: &str) -> PathBuf {
    let key = blake3::hash(request.as_bytes()).to_hex();
    folder.join(format!("{name}.{}.abort", &key[..24]))
}

/// Waits until nobody else makes or clears files here; the lock goes with the file.
fn lock_folder(folder: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(FOLDER_LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Removes what dead processes left behind. Only what is surely ours is ever removed.
fn clear(folder: &Path, own: &str) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)?.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some((name, "lock" | "abort")) =
            file.split_once('.').map(|(name, rest)| (name, rest.rsplit('.').next().unwrap_or_default()))
        else {
            continue;
        };
        if name != own && uuid::Uuid::try_parse(name).is_ok() && !is_alive(folder, name) {
            // Its owner may remove it at the same time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn many_that_begin_at_once_all_live() {
        let folder = tempfile::tempdir().unwrap();
        let owners: Vec<Owner> = std::thread::scope(|scope| {
            let begin = || Owner::new(folder.path()).unwrap();
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(begin)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for owner in &owners {
            assert!(owners.iter().all(|other| other.is_alive(owner.name())), "{}", owner.name());
            assert!(path(folder.path(), owner.name()).exists());
        }
    }

    #[test]
    fn a_wish_counts_for_the_request_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (owner, other) = (Owner::new(folder.path()).unwrap(), Owner::new(folder.path()).unwrap());
        other.ask_to_abort(owner.name(), "r/1").unwrap();
        let wish = owner.wish("r/1");
        assert!(!wish.is_there(), "it was meant for an earlier part");
        other.ask_to_abort(owner.name(), "r/1").unwrap();
        assert!(wish.is_there());
        assert!(!owner.wish("r/2").is_there());
    }

    #[test]
    fn what_the_dead_leave_is_cleared_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let dead = uuid::Uuid::now_v7().to_string();
        let living = Owner::new(folder.path()).unwrap();
        living.ask_to_abort(&dead, "r1").unwrap();
        for name in [format!("{dead}.lock"), "notes.lock".to_owned(), "notes.txt".to_owned()] {
            File::create(folder.path().join(name)).unwrap();
        }
        let other = Owner::new(folder.path()).unwrap();
        let mut left: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with(other.name()) && !name.starts_with(living.name()))
            .collect();
        left.sort();
        assert_eq!(left, ["folder.lock", "notes.lock", "notes.txt"]);
    }
}
