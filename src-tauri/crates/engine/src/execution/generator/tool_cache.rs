//! The cache of tool outputs (`cacheable`, SEMANTICS §6.7).
//!
//! It lives as long as the request runs in this process. Errors are not cached. Calls with the same key run one after
//! another, so that a second call waits for the first one's output instead of running too.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::execution::callback;
use crate::execution::context::Context;
use crate::execution::fifo::FifoMutex;
use crate::model::callable::Arg;
use crate::model::effects::Effects;
use crate::model::error::FlowError;
use crate::model::flow::Block;
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

/// Where the output of a call is cached.
pub(super) struct Place {
    pub(super) key: String,
    /// How old the output may be.
    pub(super) ttl_ms: Option<u64>,
}

/// Returns where the output of a call is cached; `None` if it is not.
pub(super) async fn place_of(
    cx: &Context,
    block: &Block,
    call: &str,
    args: &Value,
) -> Result<Option<Place>, FlowError> {
    let Some(cache) = &block.cache else { return Ok(None) };
    let args = vec![Arg::Data(args.clone().into())];
    let answer = callback::call(cx, &format!("key {call}"), &cache.key, args).await?.into_data()?.to_json();
    let Some(key) = answer.get("key") else { return Ok(None) };
    let key = format!("{}\u{0}{}", block.name, sorted(key));
    Ok(Some(Place { key, ttl_ms: answer["ttlMs"].as_f64().map(|ttl| ttl.max(0.0) as u64) }))
}

/// Returns a value with all object keys sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            Value::Object(entries.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
