//! The log of a replay keeps the promises that one request relies on, and writes nothing into the store below it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use contract::Subject;
use store::Options;

use super::*;

struct Replayed {
    log: ReplayLog,
    _folder: tempfile::TempDir,
}

impl Subject for Replayed {
    fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { create: true, ..Options::default() };
        let store = Arc::new(Store::open(folder.path().join("log.db"), options).unwrap());
        Replayed {
            log: ReplayLog {
                memory: MemoryLog::default(),
                store,
                began: i64::MAX,
                clock: Arc::default(),
                saw_earlier_requests: AtomicBool::default(),
                progress: None,
            },
            _folder: folder,
        }
    }

    fn log(&self) -> &dyn Log {
        &self.log
    }
}

impl Drop for Replayed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.log.store.stats().unwrap().events, 0);
        }
    }
}

contract::promises!(Replayed:
    atomic_appends,
    order,
    compare_and_set,
    visibility,
    one_owner,
    reads,
    replayed_records,
);
