//! `next()`, by which a middleware goes on (SEMANTICS §2.13). Must not run what is inside of it: `around` does.

use futures_channel::oneshot;

use super::Context;
use crate::model::callable::Issue;
use crate::model::data::Data;
use crate::model::error::FlowError;

impl Context {
    /// `next()`: runs what is inside the middleware that calls it, and returns its output. A call that a conflict
    /// repeats gets the same output again. With `edited`, the block runs with this input in place of its own: the
    /// arguments of a tool as a person changed them.
    pub async fn next(&self, edited: Option<Data>) -> Result<Data, FlowError> {
        let gone = || FlowError::plain("next() belongs to middleware, and to the call of it that is running");
        let next = self.next.as_ref().ok_or_else(gone)?;
        let (sender, answer) = oneshot::channel();
        next.callers.borrow_mut().extend(self.call.clone());
        next.calls.unbounded_send((edited, sender)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// As [`next`](Self::next), by a layer that has parsed the block's input with its schema: the block does not parse
    /// it again.
    pub async fn next_parsed(&self, parsed: Result<Data, Vec<Issue>>) -> Result<Data, FlowError> {
        self.frame.parsed_input.replace(Some(parsed));
        self.next(None).await
    }
}
