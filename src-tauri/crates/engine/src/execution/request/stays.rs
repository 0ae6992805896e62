//! Blocks that a resume leaves waiting: none of their questions has an answer, so they are not run again, and nothing
//! is written of them (SEMANTICS §10.2).
//!
//! With as many questions as a request has, answering them one by one would else run all others again each time. While
//! other blocks run, an answer lets such a block run as it would have let it go on. Must not decide whether its log and
//! the code of today fit: the replay cache does.

use std::rc::Rc;
use std::sync::Arc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::execution::core::live_answers::{Waiter, place};
use crate::execution::record::cache::recorded_items::RecordedItems;
use crate::execution::record::cache::{OpenQuestion, SharedStateOwner, UnfinishedBlock};
use crate::execution::record::reuse::{Instance, Reuse};
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::model::flow::Block;
use crate::model::state::State;
use crate::model::step_value::StepValue;

impl Run {
    /// Returns the questions for which a block goes on waiting, of itself and of the blocks inside it; `None` if it
    /// must run.
    pub(crate) fn stays_waiting(
        self: &Rc<Self>,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        input: &StepValue,
    ) -> Option<Vec<OpenQuestion>> {
        if self.reuse == Reuse::Repeated || self.effect_log.is_some() {
            return None;
        }
        let (by, code) = (parent.map(|parent| &*parent.instance), &self.flow.code_hash);
        let (known, questions) = self.replay_cache.still_waiting(path, block, &input.data, by, code)?;
        // It ran in this run, or an answer came while the block around it waited.
        let has_run = self.attempts.borrow().get(path).is_some_and(|next| *next > known.attempt() + 1);
        if has_run || questions.iter().any(|one| self.live_questions.answer_to(&one.path, &one.asked).is_some()) {
            return None;
        }
        self.show_waiting(known, block, path, parent, input);
        Some(questions)
    }

    /// Lets later siblings find a block that waits, with its state.
    fn show_waiting(
        self: &Rc<Self>,
        known: &UnfinishedBlock,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        input: &StepValue,
    ) {
        let owner = SharedStateOwner::Of(path.to_string());
        let own = known.own.as_ref().map(State::recorded);
        let own = own.map(|state| self.replay_cache.with_pending(&owner, state).to_json());
        let instance = Instance { attempt: known.attempt(), own, items: RecordedItems::default() };
        let frame = self.frame_of(instance, block.clone(), path.clone(), parent.cloned(), input.data.clone(), 0);
        frame.finish();
    }

    /// Waits until one of these questions is answered, the request is aborted, or nothing else of it can run. Returns
    /// whether one was answered: the block at this path must run then.
    pub(crate) async fn is_answered(
        &self,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        role: &BlockRole,
        questions: Vec<OpenQuestion>,
    ) -> bool {
        self.stays.borrow_mut().insert(path.clone());
        let is_limited = matches!(role, BlockRole::Tool(timeout) if timeout.has_limit());
        let may_wait = self.live_questions.are_accepted.get() && parent.is_none_or(|parent| parent.can_wait());
        if is_limited || !may_wait {
            return false;
        }
        let mut ids = Vec::with_capacity(questions.len());
        let mut ends = FuturesUnordered::new();
        for OpenQuestion { path, asked } in questions {
            let (sender, receiver) = oneshot::channel();
            ids.push(asked.id.clone());
            let waiter = Waiter { place: place(&path, &asked), asked: asked.clone(), sender };
            self.live_questions.waiting.borrow_mut().insert(asked.id, waiter);
            ends.push(receiver);
        }
        let answered = async {
            // A wait that is over without an answer ends with an error.
            while let Some(end) = ends.next().await {
                if end.is_ok() {
                    return true;
                }
            }
            false
        };
        let is_answered = match select(Box::pin(answered), Box::pin(self.abort.wait())).await {
            Either::Left((is_answered, _)) => is_answered,
            Either::Right(_) => false,
        };
        // The blocks that asked the others wait for those themselves.
        let mut waiting = self.live_questions.waiting.borrow_mut();
        ids.iter().for_each(|id| drop(waiting.remove(id)));
        if is_answered {
            self.stays.borrow_mut().remove(path);
        }
        is_answered
    }
}
