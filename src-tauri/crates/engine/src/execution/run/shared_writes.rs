//! Re-applies recorded writes to shared state, in recorded order, while a resume goes through the log.
//!
//! Must not decide which writes count: the replay cache does.

use std::rc::Rc;

use crate::execution::record::cache::{PendingWrite, SharedStateOwner};
use crate::execution::record::reuse::Reuse;
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::model::event::{EventKind, Seq};
use crate::model::operation::Operation;
use crate::model::path::{ROOT, background_task};
use serde_json::Value;

impl Run {
    /// Applies all recorded writes to the shared state of a frame and its ancestors. Called before a block runs whose
    /// end is not in the log, because all recorded writes were made before it.
    pub(crate) fn replay_all_shared_state(&self, frame: Option<&Rc<Frame>>) {
        self.replay_shared_state_until(frame, Seq::MAX);
    }

    fn replay_shared_state_until(&self, frame: Option<&Rc<Frame>>, until: Seq) {
        if self.replay_cache.has_only_edits {
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

    /// Applies the recorded writes of a chain's background work again, after the chain has waited for it.
    pub(crate) fn replay_background_state(&self, chain: &Rc<Frame>) {
        if let Some(ended) = self.replay_cache.last_background_end(&chain.path) {
            self.replay_shared_state_until(Some(chain), ended);
        }
    }

    /// Applies the recorded writes to the shared state of a frame and its ancestors up to event `until`, in recorded
    /// order, so that conditions see the same state and writes of concurrent blocks interleave as before. With `taken`
    /// (the path of a block that is taken from the log) it skips states outside that path's background task, because
    /// other writes to them may have come later in the chain. Returns the new events, if there are any: see [`Reuse`].
    pub(super) fn replay_shared_state(&self, frame: Option<&Rc<Frame>>, taken: Option<&str>, until: Seq) -> Vec<Seq> {
        let belongs = |path: &str| taken.is_none_or(|taken| background_task(taken) == background_task(path));
        let own = |frame: Rc<Frame>| Some((SharedStateOwner::Of(frame.path.to_string()), frame.own.clone()?));
        let around = frame.into_iter().flat_map(|frame| frame.chain()).filter(|frame| belongs(&frame.path));
        let request = belongs(ROOT).then(|| (SharedStateOwner::Request, self.state.clone()));
        let mut events = Vec::new();
        for (shared, container) in request.into_iter().chain(around.filter_map(own)) {
            while let Some(PendingWrite { operation, version, .. }) = self.replay_cache.next_change(&shared, until) {
                let mut next = (*container.read().1).clone();
                if !operation.apply(&mut next) {
                    continue;
                }
                if self.reuse == Reuse::ByReference {
                    container.write_recorded(&operation, next, version, self.next_stamp());
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

    /// Applies the recorded writes to the own state of a block that is taken from the log, up to event `until`. Several
    /// writes are recorded as one operation, because no code runs between them, so that each resume costs only one
    /// operation for each block of a loop of chains. A single write is left to `replay_shared_state`.
    pub(super) fn replay_own_state(&self, frame: &Rc<Frame>, until: Seq) {
        let Some(own) = &frame.own else { return };
        let shared = SharedStateOwner::Of(frame.path.to_string());
        if self.replay_cache.count_changes(&shared, until) < 2 {
            return;
        }
        let mut next = (*own.read().1).clone();
        let mut last = 0;
        while let Some(PendingWrite { operation, version, .. }) = self.replay_cache.next_change(&shared, until) {
            operation.apply(&mut next);
            last = version;
        }
        let Value::Object(mut state) = next.to_json() else { unreachable!("a state is an object") };
        own.transient().iter().for_each(|field| drop(state.shift_remove(field)));
        let operation = Operation::Set { state };
        if self.reuse == Reuse::ByReference {
            return own.write_recorded(&operation, next, last, self.next_stamp());
        }
        let version = own.write(&operation, next, None, self.next_stamp());
        self.record(frame, EventKind::StateChanged { scope: own.key.clone(), operation, value: None, version });
    }
}
