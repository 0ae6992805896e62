//! Handles an attempt that suspends, and records background work that could not end.

use std::rc::Rc;

use futures_util::future::{Either, select};

use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Outcome};

impl Frame {
    /// Waits for the end of `work`, or until the block suspends; then fails with [`FlowError::suspended`].
    pub async fn until_suspended<T>(&self, work: impl Future<Output = Result<T, FlowError>>) -> Result<T, FlowError> {
        match select(Box::pin(self.suspended.wait()), Box::pin(work)).await {
            Either::Left(_) => Err(self.nested.end().await),
            Either::Right((result, _)) => result,
        }
    }
}

impl Run {
    /// Ends an attempt that suspends: drops its writes, because the block runs again from its top.
    pub(crate) fn suspend(&self, frame: &Rc<Frame>) {
        frame.transaction.clear();
        frame.roll_back(|| self.next_stamp());
        self.forget_notes(frame);
        let event = EventKind::BlockFinished {
            outcome: Outcome::Suspended,
            output: None,
            error: None,
            caught: None,
            transient: frame.block.transient,
            memoized: false,
            returned_error: false,
            timed_out_ms: None,
            commits: Vec::new(),
        };
        self.record(frame, event);
    }

    /// Records that background work could not end: it suspended, or today's code does not match the log.
    pub(crate) fn note_unfinished_background(&self, error: &FlowError) {
        let mut left = self.unfinished_background.borrow_mut();
        if error.parks_request() || (error.is_suspension() && left.is_none()) {
            *left = Some(error.clone());
        }
    }
}
