//! Answers of tools that an equal call may use again (`cacheable`, SEMANTICS §6.7).
//!
//! They live as long as the request's run. Errors are never kept. Equal calls take turns, so that one that
//! comes while the first is under way gets its answer instead of running too.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::execution::fifo::Fifo;
use crate::model::effects::Effects;
use crate::model::path::is_inside;

struct Kept {
    output: Value,
    at: i64,
    ttl_ms: Option<u64>,
}

/// Equal calls in order of arrival.
#[derive(Default)]
struct Line {
    turns: Rc<Fifo>,
    /// The path of the call that had the last turn.
    first: String,
}

/// Outputs by tool and arguments.
#[derive(Default)]
pub(crate) struct ToolAnswers {
    kept: HashMap<String, Kept>,
    lines: HashMap<String, Line>,
}

impl ToolAnswers {
    /// Where a call waits for its turn among its equals; one inside of the call whose turn it is must
    /// not, because that waits for it.
    pub(crate) fn line(&mut self, key: &str, path: &str) -> Option<Rc<Fifo>> {
        let line = self.lines.entry(key.to_owned()).or_default();
        let is_inside = !line.first.is_empty() && is_inside(path, &line.first);
        (!is_inside).then(|| line.turns.clone())
    }

    /// A call has its turn.
    pub(crate) fn begin(&mut self, key: &str, path: &str) {
        self.lines.entry(key.to_owned()).or_default().first = path.to_owned();
    }

    /// An answer that is not too old, and its age in milliseconds.
    pub(crate) fn get(&self, key: &str, effects: &dyn Effects) -> Option<(Value, i64)> {
        let kept = self.kept.get(key)?;
        let age = effects.now_ms() - kept.at;
        kept.ttl_ms.is_none_or(|ttl| age < ttl as i64).then(|| (kept.output.clone(), age))
    }

    pub(crate) fn put(&mut self, key: String, output: &Value, at: i64, ttl_ms: Option<u64>) {
        self.kept.insert(key, Kept { output: output.clone(), at, ttl_ms });
    }
}
