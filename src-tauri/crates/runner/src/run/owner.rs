//! Which job runs a request, whether it still lives (ARCHITECTURE §7.1), and how it hears of a wish to
//! abort it.
//!
//! In a database on a server, every running job has a lease there. Beside a file, it holds an operating-system lock
//! on a file of its own. The lock belongs to the job and goes
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
mod folder;
mod life;

pub(crate) use answers::Answers;

use std::io;
use std::path::Path;
use std::sync::Arc;

use store::{DataPlace, Leases, Liveness, Store};
use uuid::Uuid;

use folder::Folder;

/// The locks of the jobs that run requests of one database.
#[derive(Clone)]
pub(crate) struct Locks(Arc<Jobs>);

struct Jobs {
    database: String,
    place: JobPlace,
}

/// Where jobs say that they live.
enum JobPlace {
    /// Beside the database's file.
    Folder(Folder),
    /// On the database's server.
    Server(Leases),
}

/// A job's lock, for as long as the job lives.
pub(crate) struct Lock {
    locks: Locks,
    name: Uuid,
    _held: Option<folder::Held>,
}

impl Locks {
    /// Of the database in this file, which is there. Makes nothing.
    pub(crate) fn new(data: &Path, database: &str) -> io::Result<Locks> {
        let place = JobPlace::Folder(Folder::beside(data, database)?);
        Ok(Locks(Arc::new(Jobs { database: database.to_owned(), place })))
    }

    /// Of the database that a store has open. The file `data` may not be there, where the store reads an empty one.
    pub(crate) fn of(store: &Store, data: &DataPlace) -> io::Result<Locks> {
        match Leases::of(store.place()) {
            Some(leases) => {
                let place = JobPlace::Server(leases);
                Ok(Locks(Arc::new(Jobs { database: store.id().to_owned(), place })))
            }
            None => {
                let file = data.file().filter(|file| file.exists()).unwrap_or_else(|| store.path());
                Locks::new(file, store.id())
            }
        }
    }

    /// Where they are, as people know it.
    pub(crate) fn folder(&self) -> &Path {
        match &self.0.place {
            JobPlace::Folder(folder) => folder.path(),
            JobPlace::Server(_) => Path::new("the database server"),
        }
    }

    /// A lock for a job that is about to run.
    pub(crate) fn take(&self) -> io::Result<Lock> {
        let (name, held) = match &self.0.place {
            JobPlace::Folder(folder) => folder.take().map(|(name, held)| (name, Some(held)))?,
            JobPlace::Server(leases) => {
                let name = crate::effects::outside::new_id();
                leases.take(&text(name)).map_err(io::Error::other)?;
                (name, None)
            }
        };
        Ok(Lock { locks: self.clone(), name, _held: held })
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
        // Jobs of another database are none here.
        let Some(name) = self.name_of(owner) else { return Liveness::Dead };
        match &self.0.place {
            JobPlace::Folder(folder) => folder.liveness(name),
            JobPlace::Server(leases) => leases.liveness(&text(name)),
        }
    }

    /// As [`liveness`](Self::liveness), but it never waits. For callers that hold the write lock.
    pub(crate) fn liveness_now(&self, owner: &str) -> Liveness {
        match (&self.0.place, self.name_of(owner)) {
            (JobPlace::Server(leases), Some(name)) => leases.liveness_now(&text(name)),
            _ => self.liveness(owner),
        }
    }

    /// Tells an owner that it is to be aborted; nothing where it cannot be one.
    pub(crate) fn ask_to_abort(&self, owner: &str) -> io::Result<()> {
        let Some(name) = self.name_of(owner) else { return Ok(()) };
        match &self.0.place {
            JobPlace::Folder(folder) => folder.ask_to_abort(name),
            JobPlace::Server(leases) => leases.ask_to_abort(&text(name)).map_err(io::Error::other),
        }
    }

    /// The lock's name in an owner's, where that is one of this database.
    fn name_of(&self, owner: &str) -> Option<Uuid> {
        let (database, name) = owner.split_once('.')?;
        let uuid = Uuid::try_parse(name).ok()?;
        (database == self.0.database && text(uuid) == name).then_some(uuid)
    }

    fn owner(&self, name: Uuid) -> String {
        format!("{}.{}", self.0.database, text(name))
    }
}

fn text(name: Uuid) -> String {
    name.hyphenated().to_string()
}

impl Lock {
    /// The name that requests carry.
    pub(crate) fn owner(&self) -> String {
        self.locks.owner(self.name)
    }

    /// Where the job finds a wish to abort it.
    pub(crate) fn abort_flag(&self) -> AbortFlag {
        AbortFlag { locks: self.locks.clone(), name: self.name }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        match &self.locks.0.place {
            JobPlace::Folder(folder) => folder.give_back(self.name),
            JobPlace::Server(leases) => leases.give_back(&text(self.name)),
        }
    }
}

/// A place where a wish to abort a job may appear.
pub(crate) struct AbortFlag {
    locks: Locks,
    name: Uuid,
}

impl AbortFlag {
    /// Whether somebody wants the job aborted.
    pub(crate) fn is_there(&self) -> bool {
        match &self.locks.0.place {
            JobPlace::Folder(folder) => folder.is_abort_wanted(self.name),
            JobPlace::Server(leases) => leases.is_abort_wanted(&text(self.name)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs::File;
    use std::path::PathBuf;

    use super::*;

    fn locks(folder: &Path) -> Locks {
        let data = folder.join("x.db");
        File::create(&data).unwrap();
        Locks::new(&data, "00ff").unwrap()
    }

    fn file_of(locks: &Locks, lock: &Lock) -> PathBuf {
        locks.folder().join(format!("{}.lock", lock.name))
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
        assert!(!lock.abort_flag().is_there());
        locks.ask_to_abort(&lock.owner()).unwrap();
        assert!(lock.abort_flag().is_there());
        assert!(!other.abort_flag().is_there());
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
        let (owner, path) = (lock.owner(), file_of(&first, &lock));
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
        let path = file_of(&locks, &lock);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may look at everything.
        let seen = locks.liveness(&lock.owner());
        assert_ne!(seen, Liveness::Dead);
    }
}
