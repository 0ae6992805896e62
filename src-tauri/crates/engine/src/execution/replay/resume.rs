//! Going on with a request: what is taken from the log, and what the log says of that.

use std::rc::Rc;
use std::sync::Arc;

use crate::execution::context::Context;
use crate::execution::frame::Frame;
use crate::execution::replay::cache::{Finished, Found, Shared};
use crate::execution::request::Run;
use crate::execution::step_value::StepValue;
use crate::model::callable::{Fun, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{Answer, DriftKind, EventKind, Outcome, Recorded, RequestStatus, Seq};
use crate::model::flow::Block;
use crate::model::log::AppendError;
use crate::model::operation::Operation;
use crate::model::path::{ROOT, background_task};
use crate::model::suspension::Resolved;
use serde_json::Value;

/// What the log has for a block.
pub(crate) enum RecordedEnd {
    /// Nothing: it runs.
    Nothing,
    /// How it ended.
    Ended(Rc<Frame>, Result<StepValue, FlowError>),
    /// It ended with this, but is gone through again for what runs beside it.
    HasBackgroundWork(EventKind, StepValue),
}

impl Run {
    /// Records that the request goes on: it is taken over from here, with these answers. Answers the
    /// event that holds the input. One that queues waits for its turn again.
    pub async fn take_up(self: &Rc<Self>, answers: Vec<Resolved>) -> Result<Seq, AppendError> {
        let resumed = EventKind::RequestResumed {
            owner: self.asked.owner.clone(),
            epoch: self.recorder.lease().epoch,
            code_hash: self.flow.code_hash.clone(),
            mock: self.asked.mock.clone(),
        };
        let mut events = vec![resumed];
        // The request's state is made again from what counts, so that conditions see what they saw.
        events.extend(self.state_made_anew());
        events.extend(answers.into_iter().map(EventKind::SuspensionResolved));
        if self.queues() {
            events.push(EventKind::RequestStatus { status: RequestStatus::Queued });
        }
        let last = events.pop();
        for event in events {
            self.recorder.record(None, 0, event);
        }
        if let Some(last) = last {
            self.recorder.commit(None, 0, last).await?;
        }
        Ok(self.replay_cache.input)
    }

    fn state_made_anew(&self) -> Option<EventKind> {
        let Value::Object(state) = self.state.read().1.to_json() else { return None };
        if !self.has_first_state && !self.had_state && !state.is_empty() {
            // A fork begins with the state that another request began with.
            let (scope, state) = (self.state.key.clone(), Value::Object(state));
            return Some(EventKind::StateInitialized { scope, state, durable: true });
        }
        let operation = Operation::Set { state };
        let anew = EventKind::StateChanged { scope: self.state.key.clone(), operation, value: None, version: 0 };
        self.had_state.then_some(anew)
    }

    /// Takes a block that ended from the replay cache: its output flows on, or its failure is raised again, its
    /// changes of shared state are in force again, and the log says that it was not run.
    pub(crate) fn recall(
        self: &Rc<Self>,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        input: &StepValue,
    ) -> Result<RecordedEnd, FlowError> {
        let done = match self.replay_cache.find(path, block)? {
            Found::Nothing => return Ok(RecordedEnd::Nothing),
            Found::HasBackgroundWork(done) => {
                let data = done.result.clone().unwrap_or_default();
                let given = StepValue { data, origin: self.origin(done), thrown: None };
                return Ok(RecordedEnd::HasBackgroundWork(self.ended(done), given));
            }
            Found::Finished(done) => done,
        };
        let frame = self.frame(block.clone(), path.clone(), parent.cloned(), input.data.clone(), 0);
        self.record(
            &frame,
            EventKind::BlockStarted {
                name: block.name.clone(),
                block: block.kind(),
                parent: parent.map(|frame| frame.instance.clone()),
                input: input.recorded(),
                versions: Vec::new(),
                fingerprint: block.fingerprint(),
            },
        );
        self.compare_sources(&frame, path, done.fingerprint.as_ref(), block.fingerprint().as_ref());
        if done.input != input.data {
            let text = format!("drift: {path} got another input than when it ran; what it came to is used as recorded");
            self.record(&frame, EventKind::Drift { drift: DriftKind::Input, text });
        }
        self.replay_shared_state(Some(&frame), Some(path), done.ended);
        self.record(&frame, self.ended(done));
        frame.finish();
        let result = match &done.result {
            Ok(data) => Ok(StepValue { data: data.clone(), origin: self.origin(done), thrown: None }),
            Err(error) => Err(error.clone()),
        };
        frame.end(&result);
        Ok(RecordedEnd::Ended(frame, result))
    }

    /// Takes what a function of a block returned from the replay cache; its changes are in force again. A block
    /// that it chose is found among `blocks`; where it is not, the function must be called.
    pub(crate) fn recorded_callback(
        &self,
        cx: &Context,
        name: &str,
        function: Option<&Fun>,
        blocks: &[Rc<Block>],
    ) -> Option<Returned> {
        let done = self.replay_cache.function(&cx.frame.path, name)?;
        let returned = match &done.returned {
            None => Returned::Data(Data::UNDEFINED),
            Some(Answer::Value(value)) => Returned::Data(value.clone().into()),
            Some(Answer::Block(name)) => Returned::Block(blocks.iter().find(|block| block.name == *name)?.clone()),
        };
        let fingerprint = function.and_then(|function| function.fingerprint());
        if fingerprint.is_some() {
            let what = name.rsplit_once('#').map_or(name, |(what, _)| what).trim_end_matches('.');
            let what = crate::model::path::join(&cx.frame.path, what);
            self.compare_sources(&cx.frame, &what, done.fingerprint.as_ref(), fingerprint.as_ref());
        }
        let events = self.replay_shared_state(Some(&cx.frame), Some(&cx.frame.path), done.ended);
        let recalled = EventKind::CallbackReturned {
            callback: name.to_owned(),
            fingerprint,
            returned: None,
            events,
            superseded: Vec::new(),
            memoized: true,
            commits: Vec::new(),
        };
        self.record(&cx.frame, recalled);
        Some(returned)
    }

    /// Says once that what is taken from the log had another source when it ran.
    fn compare_sources(&self, frame: &Frame, what: &str, was: Option<&Arc<str>>, is: Option<&Arc<str>>) {
        let (Some(was), Some(is)) = (was, is) else { return };
        if was == is {
            return;
        }
        let text = format!("drift: the code of {what} was changed after it ran; what it came to is used as recorded");
        if !self.replay_cache.has_said(&text) && self.note_once(text.clone()) {
            self.record(frame, EventKind::Drift { drift: DriftKind::Source, text });
        }
    }

    /// Brings everything into force again that blocks around a frame wrote to what they share: from here on,
    /// something runs that has not run before.
    pub(crate) fn replay_all_shared_state(&self, frame: Option<&Rc<Frame>>) {
        self.replay_shared_state_until(frame, Seq::MAX);
    }

    fn replay_shared_state_until(&self, frame: Option<&Rc<Frame>>, until: Seq) {
        if self.replay_cache.is_of_edits {
            return;
        }
        let events = self.replay_shared_state(frame, None, until);
        if let Some(frame) = frame.filter(|_| !events.is_empty()) {
            let (callback, superseded, commits) = (String::new(), Vec::new(), Vec::new());
            let again = EventKind::CallbackReturned {
                callback,
                fingerprint: None,
                returned: None,
                events,
                superseded,
                memoized: true,
                commits,
            };
            self.record(frame, again);
        }
    }

    /// Brings into force again what work beside a chain wrote that was waited for.
    pub(crate) fn replay_background_state(&self, chain: &Rc<Frame>) {
        if let Some(ended) = self.replay_cache.end_of_work(&chain.path) {
            self.replay_shared_state_until(Some(chain), ended);
        }
    }

    /// Brings changes into force again that were made up to an event, in the order they were made: so
    /// conditions see what they saw, and what ran side by side has written in turn. Where a block or a
    /// function was taken from the log, it brings up what belongs to its own strand: work beside a chain
    /// wrote to what is around it when its moment came, which may be later in the chain. Answers their events.
    fn replay_shared_state(&self, frame: Option<&Rc<Frame>>, taken: Option<&str>, until: Seq) -> Vec<Seq> {
        let belongs = |path: &str| taken.is_none_or(|taken| background_task(taken) == background_task(path));
        let own = |frame: Rc<Frame>| Some((Shared::Of(frame.path.to_string()), frame.own.clone()?));
        let around = frame.into_iter().flat_map(|frame| frame.chain()).filter(|frame| belongs(&frame.path));
        let request = belongs(ROOT).then(|| (Shared::Request, self.state.clone()));
        let mut events = Vec::new();
        for (shared, container) in request.into_iter().chain(around.filter_map(own)) {
            while let Some(operation) = self.replay_cache.next_change(&shared, until) {
                let mut next = (*container.read().1).clone();
                if !operation.apply(&mut next) {
                    continue;
                }
                let version = container.write(&operation, next, None, self.next_stamp());
                let again = EventKind::StateChanged { scope: container.key.clone(), operation, value: None, version };
                events.push(match frame {
                    Some(frame) => self.record(frame, again),
                    None => self.recorder.record(None, 0, again),
                });
            }
        }
        events
    }

    /// The event that holds a block's output. The log of a replay has it under another number, or not at all.
    fn origin(&self, done: &Finished) -> Option<Seq> {
        self.effect_log.is_none().then_some(done.seq)
    }

    /// The end of a block that was taken from the log: its output by reference, where the log has it.
    fn ended(&self, done: &Finished) -> EventKind {
        let (outcome, output, error) = match &done.result {
            Ok(data) => {
                let output = self.origin(done).map_or_else(|| Recorded::inline(data), Recorded::Of);
                (Outcome::Completed, Some(output), None)
            }
            Err(error) => (Outcome::Failed, None, Some(error.clone())),
        };
        EventKind::BlockFinished {
            outcome,
            output,
            error,
            caught: done.caught,
            transient: true,
            memoized: true,
            commits: Vec::new(),
        }
    }
}
