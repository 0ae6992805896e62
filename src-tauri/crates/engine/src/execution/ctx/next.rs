//! `next()` of a middleware (SEMANTICS §2.13). Must not run the code inside the middleware: `around` does.

use futures_channel::oneshot;

use super::Context;
use crate::model::callable::Issue;
use crate::model::data::Data;
use crate::model::error::FlowError;

impl Context {
    /// `next()`: runs the code inside the calling middleware, and returns its output. A call that a conflict repeats
    /// gets the same output again. With `edited`, the block runs with this input instead of its own, for example tool
    /// arguments that a person edited.
    pub async fn next(&self, edited: Option<Data>) -> Result<Data, FlowError> {
        let gone = || FlowError::plain("next() belongs to middleware, and to the call of it that is running");
        let next = self.next.as_ref().ok_or_else(gone)?;
        let (sender, answer) = oneshot::channel();
        next.callers.borrow_mut().extend(self.call.clone());
        next.calls.unbounded_send((edited, sender)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Like [`next`](Self::next), for a layer that has parsed the block's input with the block's schema, so that the
    /// block does not parse it again.
    pub async fn next_parsed(&self, parsed: Result<Data, Vec<Issue>>) -> Result<Data, FlowError> {
        self.frame.parsed_input.replace(Some(parsed));
        self.next(None).await
    }
}
