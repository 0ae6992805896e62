//! Waiting for an answer while other blocks of the request run, and taking it.

use futures_channel::oneshot;

use crate::execution::core::live_answers::{Waiter, place};
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::model::event::EventKind;
use crate::model::suspension::{Resolved, SuspensionRequest};

impl Run {
    /// Lets blocks wait for answers while other blocks run. The caller must call [`Run::stop_waiting`] whenever the
    /// request can make no progress.
    pub fn accept_answers(&self) {
        self.live_questions.are_accepted.set(true);
    }

    /// Returns the ids of the suspensions for which [`Run::answer`] accepts an answer.
    pub fn waiting_questions(&self) -> Vec<String> {
        self.live_questions.waiting.borrow().keys().cloned().collect()
    }

    /// Records an answer and continues the block that asked. Does nothing if the block no longer waits.
    pub fn answer(&self, resolved: Resolved) {
        let waiter = self.live_questions.waiting.borrow_mut().remove(&resolved.id);
        let Some(Waiter { place, asked, sender }) = waiter.filter(|waiter| !waiter.sender.is_canceled()) else {
            return;
        };
        self.recorder.record(None, 0, EventKind::SuspensionResolved(resolved.clone()));
        self.live_questions.answered.borrow_mut().entry(place).or_default().push((asked, resolved.clone()));
        let _ = sender.send(resolved);
    }

    /// Suspends the blocks that wait for an answer. Returns whether there were any.
    pub fn stop_waiting(&self) -> bool {
        let waiting = self.live_questions.waiting.take();
        waiting.into_values().filter(|waiter| !waiter.sender.is_canceled()).count() > 0
    }

    /// Waits for an answer while other blocks run. Returns `None` if the block must suspend.
    pub(crate) async fn live_answer(&self, frame: &Frame, asked: &SuspensionRequest) -> Option<Resolved> {
        if !self.live_questions.are_accepted.get() || !frame.can_wait() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter { place: place(&frame.path, asked), asked: asked.clone(), sender };
        self.live_questions.waiting.borrow_mut().insert(asked.id.clone(), waiter);
        receiver.await.ok()
    }
}

impl Frame {
    /// Returns whether the block may wait for an answer while others run. It may not if something around it needs its
    /// end: the next branch of a limited fan-out, or the timeout of a tool call. It also may not after a write to
    /// shared memory, which other blocks must not see before it has ended.
    pub(super) fn can_wait(&self) -> bool {
        let mut around = Some(self);
        while let Some(frame) = around {
            let has_written = frame.parent.is_some() && !frame.written.borrow().is_empty();
            let has_timeout = matches!(&*frame.role.borrow(), BlockRole::Tool(timeout) if timeout.has_limit());
            if has_written || frame.has_limit.get() || has_timeout {
                return false;
            }
            around = frame.parent.as_deref();
        }
        true
    }
}
