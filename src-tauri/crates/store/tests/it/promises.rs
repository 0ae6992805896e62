//! The store keeps every promise of the log, whatever it waits for.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use contract::{Durable, KnowsOwners, Shared, Subject};
use engine::log::Log;
use store::{Durability, Liveness, Options, Owners, Store};
use tempfile::TempDir;

/// A file of its own, opened with `Process` (0), `Power` (1) or `Each` (2).
struct Sqlite<const DURABILITY: usize> {
    store: Checked,
    dead: Arc<Mutex<HashSet<String>>>,
    folder: TempDir,
}

/// A store whose derived rows are compared with its events when it is closed.
struct Checked(Store);

impl Drop for Checked {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.0.check().unwrap().problems, Vec::new());
        }
    }
}

fn store_of<const DURABILITY: usize>(folder: &Path, dead: &Arc<Mutex<HashSet<String>>>) -> Store {
    let durability = [Durability::Process, Durability::Power, Durability::Each][DURABILITY];
    let dead = dead.clone();
    let is_dead = move |owner: &str| dead.lock().unwrap().contains(owner);
    let owners = Owners::new(move |owner| if is_dead(owner) { Liveness::Dead } else { Liveness::Alive });
    let options = Options { create: true, durability, owners, ..Options::default() };
    Store::open(crate::support::place_of(folder), options).unwrap()
}

fn open<const DURABILITY: usize>(folder: &Path, dead: &Arc<Mutex<HashSet<String>>>) -> Checked {
    Checked(store_of::<DURABILITY>(folder, dead))
}

impl<const DURABILITY: usize> Subject for Sqlite<DURABILITY> {
    fn create() -> Self {
        let (folder, dead) = (tempfile::tempdir().unwrap(), Arc::default());
        Sqlite { store: open::<DURABILITY>(folder.path(), &dead), dead, folder }
    }

    fn log(&self) -> &dyn Log {
        &self.store.0
    }
}

impl<const DURABILITY: usize> Shared for Sqlite<DURABILITY> {
    fn connect(&self) -> Box<dyn Log + '_> {
        Box::new(store_of::<DURABILITY>(self.folder.path(), &self.dead))
    }
}

impl<const DURABILITY: usize> KnowsOwners for Sqlite<DURABILITY> {
    fn bury(&self, owner: &str) {
        self.dead.lock().unwrap().insert(owner.to_owned());
    }
}

impl<const DURABILITY: usize> Durable for Sqlite<DURABILITY> {
    /// A kill leaves what the process has given to the system: the file and its write-ahead log, as they lie.
    fn killed(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["log.db", "log.db-wal"] {
            std::fs::copy(self.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        Sqlite { store: open::<DURABILITY>(folder.path(), &self.dead), dead: self.dead.clone(), folder }
    }

    fn reopened(self) -> Self {
        let Sqlite { store, dead, folder } = self;
        drop(store);
        Sqlite { store: open::<DURABILITY>(folder.path(), &dead), dead, folder }
    }
}

macro_rules! durabilities {
    ($($name:ident: $durability:literal $(+ $more:ident)?),+ $(,)?) => {
        $(
            mod $name {
                use super::Sqlite;

                contract::promises!(Sqlite<$durability>:
                    atomic_appends,
                    order,
                    compare_and_set,
                    durability,
                    visibility,
                    concurrency_keys,
                    one_owner,
                    one_user,
                    queues,
                    dead_owners,
                    handles,
                    reads,
                    sessions,
                    forks,
                    $($more,)?
                );
            }
        )+
    };
}

durabilities!(process: 0, power: 1, each: 2 + awaited_boundaries);
