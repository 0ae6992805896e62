//! The blocks that run around the root block of a request (SEMANTICS §1.4).
//!
//! Only their types; `execution` decides when they run.

use std::rc::Rc;

use super::Block;

/// The hooks of every request of a flow.
#[derive(Clone, Default)]
pub struct RequestHooks {
    /// Runs before the root block, with its input.
    pub on_started: Option<Rc<Block>>,
    /// Runs after success, with the output; its failure fails the request.
    pub on_completed: Option<Rc<Block>>,
    /// Runs after a failure, with the error.
    pub on_errored: Option<Rc<Block>>,
    /// Runs after either, with `{ status }`.
    pub on_finished: Option<Rc<Block>>,
    /// Runs after each failure that does not end the request, with the error.
    pub on_step_errored: Option<Rc<Block>>,
}

/// The hooks of one action; they run before those of the request.
#[derive(Clone, Default)]
pub struct ActionHooks {
    /// Runs after success, with the output; its failure fails the request.
    pub on_completed: Option<Rc<Block>>,
    /// Runs after a failure, with the error.
    pub on_errored: Option<Rc<Block>>,
}

impl RequestHooks {
    /// The hooks that are set.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Rc<Block>> {
        let all = [&self.on_started, &self.on_completed, &self.on_errored, &self.on_finished, &self.on_step_errored];
        all.into_iter().flatten()
    }
}

impl ActionHooks {
    /// The hooks that are set.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Rc<Block>> {
        [&self.on_completed, &self.on_errored].into_iter().flatten()
    }
}
