//! Answers that are given while the request runs (SEMANTICS §9.3).
//!
//! A block that asks goes on waiting while other blocks of the request run: an answer continues it where it is. When
//! nothing else can run, the caller ends the wait, and the block suspends. Must not decide which answers are allowed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_channel::oneshot;
use serde_json::Value;

use crate::execution::caught::BlockRole;
use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::model::event::EventKind;
use crate::model::suspension::{Resolved, SuspensionRequest, TOOL_APPROVAL};

/// The questions of a request that can be answered while it runs.
#[derive(Default)]
pub(crate) struct LiveQuestions {
    /// Whether the caller brings answers, and ends the wait when nothing else can run.
    are_accepted: Cell<bool>,
    /// By the id of the suspension.
    waiting: RefCell<BTreeMap<String, Waiter>>,
    /// What was asked and answered in this run: a body that runs again after a conflict asks the same.
    answered: RefCell<HashMap<Place, (SuspensionRequest, Resolved)>>,
}

/// The path of the block that asked, the callback, and the ordinal there.
type Place = (Arc<str>, Option<String>, u32);

struct Waiter {
    place: Place,
    asked: SuspensionRequest,
    sender: oneshot::Sender<Resolved>,
}

impl LiveQuestions {
    /// Returns the answer that was given in this run to the same question.
    pub(crate) fn answer_to(&self, path: &Arc<str>, asked: &SuspensionRequest) -> Option<Resolved> {
        let answered = self.answered.borrow();
        let (before, answer) = answered.get(&place(path, asked))?;
        before.differences(asked).is_none().then(|| answer.clone())
    }

    /// Returns the arguments that a person put in place of a model's, when the call of a tool at a path was approved in
    /// this run.
    pub(crate) fn edited_arguments(&self, path: &str) -> Option<Value> {
        let answered = self.answered.borrow();
        let of_path = answered.iter().filter(|((asked, ..), (question, answer))| {
            **asked == *path && question.reason == TOOL_APPROVAL && answer.is_edit()
        });
        of_path.max_by_key(|((.., ordinal), _)| *ordinal)?.1.1.data.clone()
    }
}

fn place(path: &Arc<str>, asked: &SuspensionRequest) -> Place {
    (path.clone(), asked.callback.clone(), asked.ordinal)
}

impl Run {
    /// Lets blocks that ask wait for an answer while others run. The caller must call [`Run::stop_waiting`] whenever
    /// the request can make no progress.
    pub fn accept_answers(&self) {
        self.live_questions.are_accepted.set(true);
    }

    /// Returns the ids of the suspensions that [`Run::answer`] takes an answer for.
    pub fn waiting_questions(&self) -> Vec<String> {
        self.live_questions.waiting.borrow().keys().cloned().collect()
    }

    /// Records an answer and continues the block that asked. Does nothing if the block waits no longer.
    pub fn answer(&self, resolved: Resolved) {
        let waiter = self.live_questions.waiting.borrow_mut().remove(&resolved.id);
        let Some(Waiter { place, asked, sender }) = waiter.filter(|waiter| !waiter.sender.is_canceled()) else {
            return;
        };
        self.recorder.record(None, 0, EventKind::SuspensionResolved(resolved.clone()));
        self.live_questions.answered.borrow_mut().insert(place, (asked, resolved.clone()));
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
    /// Returns whether the block may wait for an answer while others run. Not if something around it goes on only when
    /// the block has ended: the next branch of a limited fan-out, or the timeout of a tool call. And not if it has
    /// written to shared memory, which others must not see before it has ended.
    fn can_wait(&self) -> bool {
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
