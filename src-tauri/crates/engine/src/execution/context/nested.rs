//! Blocks that an author's function runs itself: `block.run(input, ctx)` (SEMANTICS §2.10).
//!
//! Such a block is a child of the block whose function runs it, with a path, attempts and a commit of its own. A resume
//! finds its result in the log. A function that runs again after a conflict finds it here. Must not run a chain's
//! steps: those are known before anything runs.

use std::rc::Rc;

use super::Context;
use crate::execution::block::run_block_as;
use crate::execution::caught::BlockRole;
use crate::execution::nested::{NestedResults, Running};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::Block;
use crate::model::operation::Operation;
use crate::model::path::{encode, join};
use crate::model::scope::ScopeKey;
use crate::model::step_value::StepValue;

impl Context {
    /// `block.run(input, ctx)`: runs a block inside this one, and returns its output. Never completes where the block
    /// waits for an answer, or the request cannot go on: the block around it ends then.
    pub async fn run_nested(&self, block: Rc<Block>, input: Data) -> Result<Data, FlowError> {
        if self.frame.is_finished() {
            let (inner, outer) = (&block.name, &self.frame.block.name);
            return Err(FlowError::plain(format!(
                "block \"{inner}\" cannot run in block \"{outer}\", which has ended; await it before it returns"
            )));
        }
        let path = self.inner_path("run", &block.name, None);
        if let Some(result) = self.nested_results().find(&path, &input) {
            return result;
        }
        let running = Running::begin(&self.frame);
        let (value, role) = (StepValue::new(input.clone()), BlockRole::Called(self.call.clone()));
        let (run, parent) = (self.run.clone(), Some(self.frame.clone()));
        self.run.expect_concurrent_blocks();
        let was_recorded = self.run.wait_for_recorded_end(&path, &block).await;
        let ended = run_block_as(run, block, parent, path.clone(), value, role).await;
        if ended.as_ref().err().is_none_or(|error| !error.is_uncatchable()) {
            self.wait_to_settle(&path, was_recorded).await;
        }
        match ended {
            Err(error) if error.is_uncatchable() => {
                self.frame.nested.stop(error);
                self.frame.suspended.set();
                drop(running);
                std::future::pending().await
            }
            ended => {
                let result = ended.map(|value| value.data);
                self.nested_results().keep(path, input, result.clone());
                result
            }
        }
    }

    /// Returns the path of a block that a function of this block runs, or that a write of it has caused: numbered from
    /// 0 within the block, and within a callback of it (SEMANTICS §3.2).
    pub(crate) fn inner_path(&self, verb: &str, name: &str, number: Option<usize>) -> String {
        let callback = self.call.as_ref().map(|call| call.name.as_str());
        let number =
            number.unwrap_or_else(|| self.ordinal(&format!("{verb} {name} {}", callback.unwrap_or_default())) as usize);
        path_inside(&self.frame.path, verb, name, callback, number)
    }

    fn nested_results(&self) -> &NestedResults {
        self.call.as_ref().map_or(&self.frame.nested_results, |call| &call.nested_results)
    }

    /// Refuses a write to a record that a function around this block has written to and not committed, unless the order
    /// of the two makes no difference: the function's write would be applied after this one, although it was before it.
    pub(super) fn need_no_earlier_write(&self, key: &ScopeKey, operation: &Operation) -> Result<(), FlowError> {
        for frame in self.frame.chain() {
            let BlockRole::Called(call) = &*frame.role.borrow() else { continue };
            let Some(around) = &frame.parent else { continue };
            let pending = call.as_ref().map_or(&around.transaction, |call| &call.transaction).pending(key);
            let is_sum = |one: &Operation| matches!(one, Operation::Increment { .. } | Operation::Push { .. });
            if pending.is_empty() || (is_sum(operation) && pending.iter().all(is_sum)) {
                continue;
            }
            let (inner, outer) = (&self.frame.block.name, &around.block.name);
            let mut error = FlowError::plain(format!(
                "block \"{inner}\" writes to {} \"{}\", which block \"{outer}\" around it has written to before it ran \
                 this one; let \"{outer}\" write after it, or in a block of its own",
                key.kind.as_str(),
                key.id
            ));
            error.code = Some("pending_write".to_owned());
            return Err(error);
        }
        Ok(())
    }
}

/// Returns the path of a block that runs inside another one without being a step of it.
pub(crate) fn path_inside(around: &str, verb: &str, name: &str, callback: Option<&str>, number: usize) -> String {
    let place = callback.map(|callback| format!("{}.", encode(callback))).unwrap_or_default();
    join(around, &format!("{verb}:{}[{place}{number}]", encode(name)))
}
