//! Which job runs a request, whether it still lives (ARCHITECTURE §7.1), and how it hears of a wish to
//! abort it.
//!
//! Every running job holds an operating-system lock on a file of its own. The lock belongs to the job and goes
//! with it, however it ends: with its end, with a panic, or with its process. A request names the file as its
//! owner: the id of the database, a dot, and the name of the file. The files lie in a folder beside the real
//! database file, so that every path to it leads to the same ones, and the folder carries the id of the database.
//! A wish is an empty file beside the lock: it needs no room in the database.
//!
//! A lock file that is not there is no proof of death: somebody may have deleted it. On Linux a job also holds a socket
//! that has no file, so that nobody can delete it.
//!
//! What a database says of its owners may have come from anywhere: only names that this module makes are ever
//! used as a path.

mod answers;
mod life;

pub(crate) use answers::Answers;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store::Liveness;
use uuid::Uuid;

/// The locks of the jobs that run requests of one database.
#[derive(Clone)]
pub(crate) struct Locks(Arc<Folder>);

struct Folder {
    path: PathBuf,
    database: String,
    file: life::Database,
    /// Whether what dead jobs left behind has been cleared away.
    is_clear: AtomicBool,
}

/// A job's lock, for as long as the job lives.
pub(crate) struct Lock {
    locks: Locks,
    name: Uuid,
    _locked: File,
    _sign: Option<life::Sign>,
}

impl Locks {
    /// Of the database in this file, which is there. Makes nothing.
    pub(crate) fn new(data: &Path, database: &str) -> io::Result<Locks> {
        let path = beside(&std::fs::canonicalize(data)?).join(database);
        let file = life::Database::of(&std::fs::metadata(data)?);
        Ok(Locks(Arc::new(Folder { path, database: database.to_owned(), file, is_clear: AtomicBool::new(false) })))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.0.path
    }

    /// A lock for a job that is about to run.
    pub(crate) fn take(&self) -> io::Result<Lock> {
        loop {
            let name = crate::effects::outside::new_id();
            let file = self.make(&self.path(name, "lock"))?;
            // Before the lock is held somebody may take the file for that of a dead job, and clear it away.
            file.lock()?;
            if is_there(&file, &self.path(name, "lock"))? {
                if !self.0.is_clear.swap(true, Ordering::Relaxed) {
                    self.clear(name);
                }
                let sign = life::Sign::give(&self.0.file, name);
                return Ok(Lock { locks: self.clone(), name, _locked: file, _sign: sign });
            }
        }
    }

    /// An owner that runs nothing, for who only ends a request.
    pub(crate) fn nobody(&self) -> String {
        self.owner(crate::effects::outside::new_id())
    }

    /// Whether an owner is one of this database, and not one that an import brought.
    pub(crate) fn is_ours(&self, owner: &str) -> bool {
        self.name_of(owner).is_some()
    }

    /// Whether the job lives that has this name as an owner.
    pub(crate) fn liveness(&self, owner: &str) -> Liveness {
        match self.name_of(owner) {
            Some(name) => self.liveness_of(name),
            // Jobs of another database are none here.
            None => Liveness::Dead,
        }
    }

    fn liveness_of(&self, name: Uuid) -> Liveness {
        let without_lock = || if life::is_given(&self.0.file, name) { Liveness::Alive } else { Liveness::Dead };
        match File::open(self.path(name, "lock")) {
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

    /// Tells an owner that it is to be aborted; nothing where it cannot be one.
    pub(crate) fn ask_to_abort(&self, owner: &str) -> io::Result<()> {
        match self.name_of(owner) {
            // Somebody else, maybe another user, may have asked already.
            Some(name) if self.path(name, "abort").exists() => Ok(()),
            Some(name) => self.make(&self.path(name, "abort")).map(drop),
            None => Ok(()),
        }
    }

    /// The lock's name in an owner's, where that is one of this database.
    fn name_of(&self, owner: &str) -> Option<Uuid> {
        let (database, name) = owner.split_once('.')?;
        let uuid = Uuid::try_parse(name).ok()?;
        (database == self.0.database && uuid.hyphenated().to_string() == name).then_some(uuid)
    }

    fn owner(&self, name: Uuid) -> String {
        format!("{}.{}", self.0.database, name.hyphenated())
    }

    fn path(&self, name: Uuid, what: &str) -> PathBuf {
        self.0.path.join(format!("{}.{what}", name.hyphenated()))
    }

    /// Makes a file that every user may look at, and the folder where there is none.
    fn make(&self, path: &Path) -> io::Result<File> {
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                std::fs::create_dir_all(&self.0.path)?;
                open()?
            }
            made => made?,
        };
        readable_by_all(&file)?;
        Ok(file)
    }

    /// Removes what dead jobs left behind. Only what is surely ours, and surely dead, is ever removed.
    fn clear(&self, own: Uuid) {
        let Ok(entries) = std::fs::read_dir(&self.0.path) else { return };
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some((name, what)) = file.split_once('.') else { continue };
            if what != "lock" && what != "abort" && !what.ends_with(".answer") {
                continue;
            }
            let Ok(name) = Uuid::try_parse(name) else { continue };
            if name != own && !life::is_given(&self.0.file, name) {
                remove_if_dead(&self.path(name, "lock"), &entry.path());
            }
        }
    }
}

impl Lock {
    /// The name that requests carry.
    pub(crate) fn owner(&self) -> String {
        self.locks.owner(self.name)
    }

    /// Where the job finds a wish to abort it.
    pub(crate) fn wish(&self) -> Wish {
        Wish(self.locks.path(self.name, "abort"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What is left behind is cleared by the next process.
        let _ = std::fs::remove_file(self.locks.path(self.name, "lock"));
        let _ = std::fs::remove_file(self.locks.path(self.name, "abort"));
    }
}

/// A place where a wish to abort a job may appear.
pub(crate) struct Wish(PathBuf);

impl Wish {
    /// Whether somebody wants the job aborted.
    pub(crate) fn is_there(&self) -> bool {
        self.0.exists()
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

/// Where a database has the locks of its jobs: beside its real file, under a name of its own.
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
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_file: &File) -> io::Result<()> {
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn locks(folder: &Path) -> Locks {
        let data = folder.join("x.db");
        File::create(&data).unwrap();
        Locks::new(&data, "00ff").unwrap()
    }

    /// A file that is made and not yet locked looks like one that a dead job left: it was cleared away under a
    /// job that had just taken its lock.
    #[test]
    fn many_that_begin_at_once_all_live() {
        for _ in 0..20 {
            begin_many_at_once();
        }
    }

    fn begin_many_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let own: Vec<Lock> = std::thread::scope(|scope| {
            let begin = || locks(folder.path()).take().unwrap();
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(begin)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let other = locks(folder.path());
        for lock in &own {
            assert_eq!(other.liveness(&lock.owner()), Liveness::Alive);
        }
        let owners: Vec<String> = own.iter().map(Lock::owner).collect();
        drop(own);
        for owner in owners {
            assert_eq!(other.liveness(&owner), Liveness::Dead);
        }
    }

    #[test]
    fn every_way_to_the_file_leads_to_the_same_locks() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("x.db");
        let lock = locks(folder.path()).take().unwrap();
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        assert_eq!(
            Locks::new(&folder.path().join("deep/../x.db"), "00ff").unwrap().liveness(&lock.owner()),
            Liveness::Alive
        );
        #[cfg(unix)]
        {
            let link = folder.path().join("deep/link.db");
            std::os::unix::fs::symlink(&data, &link).unwrap();
            assert_eq!(Locks::new(&link, "00ff").unwrap().liveness(&lock.owner()), Liveness::Alive);
        }
        // Another database in the same place has other jobs.
        assert_eq!(Locks::new(&data, "00fe").unwrap().liveness(&lock.owner()), Liveness::Dead);
    }

    #[test]
    fn a_wish_counts_for_the_job_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let locks = locks(folder.path());
        let (lock, other) = (locks.take().unwrap(), locks.take().unwrap());
        assert!(!lock.wish().is_there());
        locks.ask_to_abort(&lock.owner()).unwrap();
        assert!(lock.wish().is_there());
        assert!(!other.wish().is_there());
    }

    #[test]
    fn an_owner_from_elsewhere_is_never_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let locks = locks(folder.path());
        let victim = folder.path().join("victim.lock");
        let file = File::create(&victim).unwrap();
        file.lock().unwrap();
        for owner in ["../../victim", "00ff.../../victim", "00ff.victim", "../victim.00ff", "", "."] {
            assert_eq!(locks.liveness(owner), Liveness::Dead, "{owner}");
            locks.ask_to_abort(owner).unwrap();
            assert!(!locks.is_ours(owner));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing was made");
    }

    #[test]
    fn what_the_dead_leave_is_cleared_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let first = locks(folder.path());
        let living = first.take().unwrap();
        let dead = crate::effects::outside::new_id().to_string();
        first.ask_to_abort(&format!("00ff.{dead}")).unwrap();
        for name in [format!("{dead}.lock"), "notes.lock".to_owned(), "notes.txt".to_owned()] {
            File::create(first.folder().join(name)).unwrap();
        }
        let second = locks(folder.path());
        let other = second.take().unwrap();
        let mut left: Vec<String> = std::fs::read_dir(first.folder())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| [&living, &other].iter().all(|lock| !name.starts_with(&lock.name.to_string())))
            .collect();
        left.sort();
        assert_eq!(left, ["notes.lock", "notes.txt"]);
        assert_eq!(first.liveness(&other.owner()), Liveness::Alive);
    }

    /// Another job took its request over, and both ran it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_job_whose_lock_was_deleted_lives() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (locks(folder.path()), locks(folder.path()));
        let lock = first.take().unwrap();
        let (owner, path) = (lock.owner(), first.path(lock.name, "lock"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(second.liveness(&owner), Liveness::Alive);
        File::create(&path).unwrap();
        assert_eq!(second.liveness(&owner), Liveness::Alive, "another file has its name");
        std::fs::remove_dir_all(first.folder()).unwrap();
        assert_eq!(second.liveness(&owner), Liveness::Alive);
        drop(lock);
        assert_eq!(second.liveness(&owner), Liveness::Dead);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_cannot_be_looked_at_is_no_dead_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let locks = locks(folder.path());
        let lock = locks.take().unwrap();
        let path = locks.path(lock.name, "lock");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may look at everything.
        let seen = locks.liveness(&lock.owner());
        assert_ne!(seen, Liveness::Dead);
    }
}
