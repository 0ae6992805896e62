//! The log of synthetic requests keeps the promises of the store that it waits for.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use contract::Subject;
use store::{Options, Store};

use super::*;

struct Waiting {
    log: Settled,
    _folder: tempfile::TempDir,
}

impl Subject for Waiting {
    fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { create: true, ..Options::default() };
        let store = Store::open(folder.path().join("log.db"), options).unwrap();
        Waiting { log: Settled::new(Arc::new(store), None, 0), _folder: folder }
    }

    fn log(&self) -> &dyn Log {
        &self.log
    }
}

contract::promises!(Waiting:
    atomic_appends,
    order,
    compare_and_set,
    visibility,
    concurrency_keys,
    one_owner,
    one_user,
    queues,
    reads,
    sessions,
    forks,
);
