//! The log of a plan keeps the promises that one request relies on, and writes nothing into the store below it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use contract::Subject;
use store::Options;

use super::*;

struct Planned {
    log: PlanLog,
    _folder: tempfile::TempDir,
}

impl Subject for Planned {
    fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { create: true, ..Options::default() };
        let store = Arc::new(Store::open(folder.path().join("log.db"), options).unwrap());
        Planned { log: PlanLog { memory: MemoryLog::default(), store }, _folder: folder }
    }

    fn log(&self) -> &dyn Log {
        &self.log
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.log.store.stats().unwrap().events, 0);
        }
    }
}

contract::promises!(Planned:
    atomic_appends,
    order,
    compare_and_set,
    visibility,
    one_owner,
    reads,
    replayed_records,
);
