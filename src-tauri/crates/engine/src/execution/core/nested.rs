//! The blocks that a block's functions run (SEMANTICS §2.10): the running ones, and the results of the others.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use futures_channel::oneshot;

use crate::model::data::Data;
use crate::model::error::FlowError;

/// The input and the result of a block.
type NestedResult = (Data, Result<Data, FlowError>);

/// The results of the blocks that one execution of a function ran, by path, with their inputs.
#[derive(Default)]
pub(crate) struct NestedResults(RefCell<HashMap<String, NestedResult>>);

impl NestedResults {
    /// Moves the results to the execution that repeats this one.
    pub(crate) fn hand_on(&self) -> NestedResults {
        NestedResults(RefCell::new(self.0.take()))
    }

    /// Takes the results of an earlier execution.
    pub(crate) fn adopt(&self, earlier: &NestedResults) {
        self.0.replace(earlier.0.take());
    }

    /// Returns the result of a block that an earlier execution ran with the same input.
    pub(crate) fn find(&self, path: &str, input: &Data) -> Option<Result<Data, FlowError>> {
        self.0.borrow().get(path).filter(|(given, _)| given == input).map(|(_, result)| result.clone())
    }

    pub(crate) fn keep(&self, path: String, input: Data, result: Result<Data, FlowError>) {
        self.0.borrow_mut().insert(path, (input, result));
    }
}

/// The blocks that the functions of one block are running.
#[derive(Default)]
pub(crate) struct Nested {
    running: Cell<u32>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
    /// The error for the block, if one of these blocks could not end.
    failure: RefCell<Option<FlowError>>,
}

impl Nested {
    /// Notes that a block starts.
    pub(crate) fn enter(&self) {
        self.running.set(self.running.get() + 1);
    }

    /// Notes that a block has ended. If it was the last one, wakes the waiter.
    pub(crate) fn leave(&self) {
        self.running.set(self.running.get() - 1);
        if self.running.get() == 0 {
            for waiter in self.waiting.take() {
                // The waiter was aborted.
                let _ = waiter.send(());
            }
        }
    }

    /// Waits until all running blocks have ended, because they are not cut off. Returns why the block cannot go on.
    pub(crate) async fn end(&self) -> FlowError {
        if self.running.get() > 0 {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push(sender);
            // The sender is dropped only together with the block.
            let _ = receiver.await;
        }
        self.failure.take().unwrap_or_else(FlowError::suspended)
    }

    /// Notes why the block cannot go on. A mismatch of the code and the log takes precedence over a question.
    pub(crate) fn stop(&self, error: FlowError) {
        let mut failure = self.failure.borrow_mut();
        if failure.as_ref().is_none_or(FlowError::is_suspension) {
            *failure = Some(error);
        }
    }
}
