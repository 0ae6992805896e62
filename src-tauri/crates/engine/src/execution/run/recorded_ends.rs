//! Taking recorded results from the replay cache, and recording that they were taken.

use std::rc::Rc;
use std::sync::Arc;

use crate::execution::record::cache::{CacheLookup, RecordedBlock, UnfinishedBlock};
use crate::execution::record::reuse::{Instance, Reuse};
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::model::callable::{Fun, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind, Outcome, Recorded, RecordedReturn, Seq};
use crate::model::flow::Block;
use crate::model::path::join;
use crate::model::scope::ScopeKey;
use crate::model::step_value::StepValue;

/// What a resume does with a block.
pub(crate) enum RecordedEnd {
    /// The log has no end of it: it runs.
    Nothing,
    /// It is not run: this is its recorded result.
    Ended(Rc<Frame>, Result<StepValue, FlowError>),
    /// It runs again to reach its background work, and then has this recorded output.
    HasBackgroundWork(BackgroundOf, StepValue),
}

/// How a block that has ended runs again to reach its background work.
pub(crate) enum BackgroundOf {
    /// As the instance that ended, which records nothing.
    Ended(Instance),
    /// As a new attempt that ends with this event.
    NewAttempt(Box<EventKind>),
}

impl Run {
    /// Takes a block that ended from the replay cache: applies its writes to shared state again, and returns its
    /// recorded output or error. Records nothing of it, or else that it was memoized, as [`Reuse`] says.
    pub(crate) fn take_recorded_end(
        self: &Rc<Self>,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        input: &StepValue,
    ) -> Result<RecordedEnd, FlowError> {
        let done = match self.replay_cache.find(path, block)? {
            CacheLookup::Nothing => return Ok(RecordedEnd::Nothing),
            CacheLookup::HasBackgroundWork(done) => {
                let data = done.result.clone().unwrap_or_default();
                let given = StepValue::held(data, self.origin(done));
                if done.is_edited && self.reuse == Reuse::ByReference {
                    let frame = self.begin_memoized(block, path, parent.cloned(), input);
                    self.record(&frame, self.memoized_end(done));
                    frame.finish();
                }
                let again = match self.reuse {
                    Reuse::ByReference => BackgroundOf::Ended(Instance::of(done.attempt())),
                    Reuse::Repeated => BackgroundOf::NewAttempt(Box::new(self.memoized_end(done))),
                };
                return Ok(RecordedEnd::HasBackgroundWork(again, given));
            }
            CacheLookup::Ended(done) => done,
        };
        let parent = parent.cloned();
        // The output that a fork gives a block is recorded as the end of a new attempt.
        let reuse = if done.is_edited { Reuse::Repeated } else { self.reuse };
        let frame = match reuse {
            Reuse::ByReference => {
                let instance = Instance::of(done.attempt());
                self.frame_of(instance, block.clone(), path.clone(), parent, input.data.clone(), 0)
            }
            Reuse::Repeated => self.begin_memoized(block, path, parent, input),
        };
        self.compare_sources(&frame, None, done.fingerprint.as_ref(), block.fingerprint());
        if done.input != input.data {
            let text = format!("drift: {path} got another input than when it ran; what it came to is used as recorded");
            self.record(&frame, EventKind::drift(DriftKind::Input, text));
        }
        self.replay_own_state(&frame, done.ended);
        self.replay_shared_state(Some(&frame), Some(path), done.ended);
        self.restore_seen_after_edit(&frame);
        match reuse {
            Reuse::ByReference => drop(self.kept.borrow_mut().insert(path.clone())),
            Reuse::Repeated => drop(self.record(&frame, self.memoized_end(done))),
        }
        frame.finish();
        if block.rescues_inside() && self.replay_cache.is_of_rescue(path, done) {
            frame.mark_rescued();
        }
        let result = match &done.result {
            Ok(data) => Ok(StepValue::held(data.clone(), self.origin(done))),
            Err(error) => Err((**error).clone()),
        };
        frame.end(&result);
        Ok(RecordedEnd::Ended(frame, result))
    }

    /// Begins an attempt that ends as memoized.
    fn begin_memoized(
        self: &Rc<Self>,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<Rc<Frame>>,
        input: &StepValue,
    ) -> Rc<Frame> {
        let frame = self.frame(block.clone(), path.clone(), parent, input.data.clone(), 0);
        let began = EventKind::BlockStarted {
            name: block.name.clone(),
            block: block.kind(),
            parent: frame.parent.as_ref().map(|frame| frame.instance.clone()),
            input: input.recorded(),
            versions: Vec::new(),
            fingerprint: block.fingerprint(),
            replaces_failed: false,
        };
        self.record(&frame, began);
        frame
    }

    /// Returns whether an attempt runs because the one before it had failed when the request was resumed.
    pub(crate) fn replaces_failed(&self, frame: &Frame) -> bool {
        let is_before = |known: &UnfinishedBlock| known.has_failed && known.attempt() + 1 == frame.attempt;
        self.reuse == Reuse::ByReference && self.replay_cache.unfinished(&frame.path).is_some_and(is_before)
    }

    /// Records that a block goes on as the instance that was interrupted. `versions` are the durable records it sees.
    pub(crate) fn record_goes_on(&self, frame: &Frame, versions: Vec<(ScopeKey, u64)>) {
        let (epoch, fingerprint) = (self.recorder.lease().epoch, frame.block.fingerprint());
        self.record(frame, EventKind::BlockResumed { epoch, versions, fingerprint });
    }

    /// Records which durable records a block sees that has ended and is gone through for its background work, if they
    /// are news: the blocks that begin inside it do not tell them again.
    pub(crate) fn record_seen(&self, frame: &Frame, versions: Vec<(ScopeKey, u64)>) {
        if !versions.is_empty() {
            self.record(frame, EventKind::RecordsSeen { versions });
        }
    }

    /// Returns what a block gives that had ended and was gone through for its background work. Its end stays as it is
    /// in the log, also if a function of it that is called again throws now.
    pub(crate) fn given_again(
        &self,
        frame: &Frame,
        result: Result<StepValue, FlowError>,
        given: StepValue,
    ) -> Result<StepValue, FlowError> {
        match result {
            Err(error) if error.is_uncatchable() => Err(error),
            Err(error) => {
                let text = format!("had ended; going on with its background work failed: {}", error.message);
                self.record(frame, EventKind::Logged { level: "error".to_owned(), text });
                Ok(given)
            }
            Ok(_) => Ok(given),
        }
    }

    /// Takes what a callback returned from the replay cache, and applies its writes to shared state again. A returned
    /// block is looked up in `blocks` by its name. Returns `None` if the callback must be called.
    pub(crate) fn recorded_callback(
        &self,
        frame: &Rc<Frame>,
        name: &str,
        function: Option<&Fun>,
        blocks: &[Rc<Block>],
    ) -> Option<Returned> {
        let done = self.replay_cache.callback(&frame.path, name)?;
        let returned = match &done.returned {
            None => Returned::Data(Data::UNDEFINED),
            Some(RecordedReturn::Value(value)) => Returned::Data(value.clone().into()),
            Some(RecordedReturn::Block(name)) => {
                Returned::Block(blocks.iter().find(|block| block.name == *name)?.clone())
            }
        };
        let fingerprint = function.and_then(|function| function.fingerprint());
        self.compare_sources(frame, Some(name), done.fingerprint.as_ref(), fingerprint.clone());
        let events = self.replay_shared_state(Some(frame), Some(&frame.path), done.ended);
        if self.reuse == Reuse::ByReference {
            return Some(returned);
        }
        let recalled = EventKind::CallbackReturned {
            callback: name.to_owned(),
            fingerprint,
            returned: None,
            events,
            superseded: Vec::new(),
            memoized: true,
            commits: Vec::new(),
        };
        self.record(frame, recalled);
        Some(returned)
    }

    /// Records one drift event, if the source of what is taken from the log, a block or a callback of it, was changed
    /// since it ran or since that was told last.
    fn compare_sources(&self, frame: &Frame, callback: Option<&str>, was: Option<&Arc<str>>, is: Option<Arc<str>>) {
        let (Some(was), Some(is)) = (was, is) else { return };
        if *was == is {
            return;
        }
        let what = match callback {
            None => frame.path.to_string(),
            Some(name) => join(&frame.path, name.rsplit_once('#').map_or(name, |(what, _)| what).trim_end_matches('.')),
        };
        let text = format!("drift: the code of {what} was changed after it ran; what it came to is used as recorded");
        let is_told = self.reuse == Reuse::Repeated && self.replay_cache.has_drift_text(&text);
        if !is_told && self.note_once(text.clone()) {
            let (callback, fingerprint) = (callback.map(str::to_owned), Some(is));
            self.record(frame, EventKind::Drift { drift: DriftKind::Source, text, callback, fingerprint });
        }
    }

    /// Returns the event that holds a block's output. In a replay there is none: its own log has other numbers.
    fn origin(&self, done: &RecordedBlock) -> Option<Seq> {
        self.effect_log.is_none().then_some(done.seq)
    }

    /// Returns the memoized end of a block that was taken from the log, with its output by reference if possible.
    fn memoized_end(&self, done: &RecordedBlock) -> EventKind {
        let (outcome, output, error) = match &done.result {
            Ok(data) => {
                let output = self.origin(done).map_or_else(|| Recorded::inline(data), Recorded::Of);
                (Outcome::Completed, Some(output), None)
            }
            Err(error) => (Outcome::Failed, None, Some((**error).clone())),
        };
        EventKind::BlockFinished {
            outcome,
            output,
            error,
            caught: done.caught,
            transient: true,
            memoized: true,
            returned_error: done.returned_error,
            // The timeout is in the log as well, and then the call is not asked for its end.
            timed_out_ms: None,
            commits: Vec::new(),
        }
    }
}
