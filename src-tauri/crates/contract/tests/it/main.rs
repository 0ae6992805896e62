//! The engine's in-memory log keeps the promises that apply within one process.

use contract::Subject;
use engine::log::Log;
use engine::memory_log::MemoryLog;

struct Memory(MemoryLog);

impl Subject for Memory {
    fn create() -> Self {
        Memory(MemoryLog::default())
    }

    fn log(&self) -> &dyn Log {
        &self.0
    }
}

contract::promises!(Memory:
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
    replayed_records,
);
