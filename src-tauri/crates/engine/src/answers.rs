//! Answers of tools that an equal call may use again (`cacheable`, core-semantics §6.7).
//!
//! They live as long as the request's run. Errors are never kept.

use std::collections::HashMap;

use serde_json::Value;

use crate::effects::Effects;

struct Kept {
    output: Value,
    at: i64,
    ttl_ms: Option<u64>,
}

/// Outputs by tool and arguments.
#[derive(Default)]
pub(crate) struct ToolAnswers(HashMap<String, Kept>);

impl ToolAnswers {
    /// An answer that is not too old, and its age in milliseconds.
    pub(crate) fn get(&self, key: &str, effects: &dyn Effects) -> Option<(Value, i64)> {
        let kept = self.0.get(key)?;
        let age = effects.now_ms() - kept.at;
        kept.ttl_ms.is_none_or(|ttl| age < ttl as i64).then(|| (kept.output.clone(), age))
    }

    pub(crate) fn put(&mut self, key: String, output: &Value, at: i64, ttl_ms: Option<u64>) {
        self.0.insert(key, Kept { output: output.clone(), at, ttl_ms });
    }
}
