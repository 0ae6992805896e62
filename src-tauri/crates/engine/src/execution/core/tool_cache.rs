//! The cache of tool outputs (`cacheable`, SEMANTICS §6.7).
//!
//! It lives as long as the request runs in this process. Errors are not cached. Calls with the same key run one after
//! another, so that a second call waits for the first one's output instead of running too.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::execution::core::fifo::FifoMutex;
use crate::model::effects::Effects;
use crate::model::path::is_inside;

struct CachedOutput {
    output: Value,
    at: i64,
    ttl_ms: Option<u64>,
}

/// The mutex of the calls with one key.
#[derive(Default)]
struct KeyMutex {
    mutex: Rc<FifoMutex>,
    /// The path of the call that holds or last held the mutex.
    holder: String,
}

/// Outputs by key: the tool's name and its arguments.
#[derive(Default)]
pub(crate) struct ToolCache {
    kept: HashMap<String, CachedOutput>,
    mutexes: HashMap<String, KeyMutex>,
}

impl ToolCache {
    /// Returns the mutex that a call with this key must take. A call inside the call that holds the mutex gets `None`:
    /// waiting for it would be a deadlock.
    pub(crate) fn mutex(&mut self, key: &str, path: &str) -> Option<Rc<FifoMutex>> {
        let key_mutex = self.mutexes.entry(key.to_owned()).or_default();
        let is_inside = !key_mutex.holder.is_empty() && is_inside(path, &key_mutex.holder);
        (!is_inside).then(|| key_mutex.mutex.clone())
    }

    /// Notes that the call at `path` has taken the mutex.
    pub(crate) fn begin(&mut self, key: &str, path: &str) {
        self.mutexes.entry(key.to_owned()).or_default().holder = path.to_owned();
    }

    /// Returns a cached output that has not expired, and its age in milliseconds.
    pub(crate) fn get(&self, key: &str, effects: &dyn Effects) -> Option<(Value, i64)> {
        let kept = self.kept.get(key)?;
        let age = effects.now_ms() - kept.at;
        kept.ttl_ms.is_none_or(|ttl| age < ttl as i64).then(|| (kept.output.clone(), age))
    }

    pub(crate) fn put(&mut self, key: String, output: &Value, at: i64, ttl_ms: Option<u64>) {
        self.kept.insert(key, CachedOutput { output: output.clone(), at, ttl_ms });
    }
}
