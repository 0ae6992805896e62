//! Blocks that an author's function runs: `block.run(input, ctx)` (SEMANTICS §2.10).
//!
//! Such a block is a child of the block whose function runs it, with a path, attempts and a commit of its own. A resume
//! finds its result in the log. A function that runs again after a conflict finds it here. Must not run a chain's
//! steps, which are known before anything runs.

use std::rc::Rc;

use crate::execution::core::nested::NestedResults;
use crate::execution::ctx::Context;
use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::execution::step::block::run_block_as;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::Block;
use crate::model::step_value::StepValue;

impl Context {
    /// `block.run(input, ctx)`: runs a block inside this one, and returns its output. Never completes if the block
    /// waits for an answer or the request cannot go on, because the block around it ends instead.
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

    fn nested_results(&self) -> &NestedResults {
        self.call.as_ref().map_or(&self.frame.nested_results, |call| &call.nested_results)
    }
}

/// Counts a block while it runs.
struct Running(Rc<Frame>);

impl Running {
    fn begin(frame: &Rc<Frame>) -> Running {
        frame.nested.enter();
        Running(frame.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.nested.leave();
    }
}
