//! `ctx.getTarget`, `getBlockResult`, `getBlockOutput` and `wasRescued`: what a block can read of its earlier siblings
//! and its ancestors (SEMANTICS §2.8).

use serde_json::Value;

use super::Context;
use crate::execution::run::frame::Frame;
use crate::execution::run::siblings::Sibling;
use crate::model::data::Data;
use crate::model::error::FlowError;

impl Context {
    /// `ctx.getTarget`: the newest earlier sibling of that name; else the ancestor, which must be the only one of that
    /// name (SEMANTICS §2.8).
    pub fn target(&self, name: &str) -> Result<Option<Sibling>, FlowError> {
        if let Some(sibling) = self.frame.newest_sibling(|sibling| sibling.name() == name) {
            return Ok(Some(sibling));
        }
        let mut around = self.frame.chain().filter(|frame| &*frame.block.name == name);
        let (first, second) = (around.next(), around.next());
        if let (Some(first), Some(second)) = (&first, &second) {
            let request = self.caller().request;
            let id = |frame: &Frame| format!("{request}:{}", frame.instance);
            let all: Vec<String> =
                [first, second].into_iter().map(|frame| id(frame)).chain(around.map(|frame| id(&frame))).collect();
            let mut error = FlowError::new(
                "AmbiguousBlockNameError",
                format!(
                    "getTarget(\"{name}\") is ambiguous from block instance \"{}\". Matching instances: {}",
                    id(&self.frame),
                    all.join(", ")
                ),
            );
            error.code = Some("ambiguous_block_name".to_owned());
            error.classes.insert(1, "FlowError".to_owned());
            return Err(error);
        }
        Ok(first.map(Sibling::Frame))
    }

    /// `ctx.getBlockResult`: the newest of that name among the earlier siblings and the block itself. An error keeps
    /// its `handle`, so that the script host can return the very object that was thrown.
    pub fn block_result(&self, name: &str) -> Value {
        let found = self.frame.newest_sibling(|sibling| sibling.name() == name);
        let Some(sibling) = found else { return serde_json::json!({ "status": "not_started" }) };
        match sibling.outcome() {
            None => serde_json::json!({ "status": "running" }),
            Some(Ok(output)) => serde_json::json!({ "status": "completed", "output": output.to_json() }),
            Some(Err(error)) => serde_json::json!({ "status": "failed", "error": error.to_host_json() }),
        }
    }

    /// `ctx.getBlockOutput`: the output of the newest earlier sibling of that name that completed.
    pub fn block_output(&self, name: &str) -> Data {
        let found = self.frame.newest_sibling(|sibling| sibling.name() == name && sibling.has_completed());
        found.and_then(|sibling| sibling.outcome()?.ok()).unwrap_or_default()
    }

    /// `ctx.wasRescued`: of a block inside, as functions of a chain ask about its steps, or else of an earlier sibling.
    pub fn was_rescued(&self, name: &str) -> bool {
        let is_named = |sibling: &Sibling| sibling.name() == name;
        let inner = self.frame.children.newest(usize::MAX, is_named);
        inner.or_else(|| self.frame.newest_sibling(is_named)).is_some_and(|sibling| sibling.is_rescued())
    }
}
