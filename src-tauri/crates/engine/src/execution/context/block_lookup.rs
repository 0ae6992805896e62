//! `ctx.getTarget`, `getBlockResult`, `getBlockOutput` and `wasRescued`: what a block can read of its earlier siblings
//! and its ancestors (SEMANTICS §2.8).

use std::rc::Rc;

use serde_json::Value;

use super::Context;
use crate::execution::frame::Frame;
use crate::model::data::Data;
use crate::model::error::FlowError;

impl Context {
    /// `ctx.getTarget`: the newest earlier sibling of that name; else the ancestor, which must be the only one of that
    /// name (SEMANTICS §2.8).
    pub fn target(&self, name: &str) -> Result<Option<Rc<Frame>>, FlowError> {
        if let Some(sibling) = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name) {
            return Ok(Some(sibling));
        }
        let mut around = self.frame.chain().filter(|frame| &*frame.block.name == name);
        let (first, second) = (around.next(), around.next());
        if let (Some(first), Some(second)) = (&first, &second) {
            let id = |frame: &Frame| format!("{}:{}", self.run.request, frame.instance);
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
        Ok(first)
    }

    /// `ctx.getBlockResult`: the newest of that name among the earlier siblings and the block itself. An error keeps
    /// its `handle`, so that the script host can return the very object that was thrown.
    pub fn block_result(&self, name: &str) -> Value {
        let found = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name);
        let Some(frame) = found else { return serde_json::json!({ "status": "not_started" }) };
        match &*frame.outcome.borrow() {
            None => serde_json::json!({ "status": "running" }),
            Some(Ok(output)) => serde_json::json!({ "status": "completed", "output": output.to_json() }),
            Some(Err(error)) => {
                let mut json = serde_json::to_value(error).unwrap_or_default();
                json["handle"] = error.handle.into();
                serde_json::json!({ "status": "failed", "error": json })
            }
        }
    }

    /// `ctx.getBlockOutput`: the output of the newest earlier sibling of that name that completed.
    pub fn block_output(&self, name: &str) -> Data {
        let completed = self.frame.siblings().into_iter().filter(|frame| &*frame.block.name == name).find_map(
            |frame| match &*frame.outcome.borrow() {
                Some(Ok(output)) => Some(output.clone()),
                _ => None,
            },
        );
        completed.unwrap_or_default()
    }

    /// `ctx.wasRescued`.
    pub fn was_rescued(&self, name: &str) -> bool {
        let found = self.frame.siblings().into_iter().find(|frame| &*frame.block.name == name);
        found.is_some_and(|frame| frame.rescued.get())
    }
}
