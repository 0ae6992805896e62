//! The executions of a request's blocks: their numbers, and their states at the beginning.
//!
//! Must not decide what is taken from the log: `recorded_ends` does.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::declared::declared;
use super::{Run, defaults};
use crate::execution::core::shared::SharedState;
use crate::execution::record::cache::SharedStateOwner;
use crate::execution::record::reuse::{Instance, Reuse};
use crate::execution::run::frame::Frame;
use crate::model::callable::SchemaRef;
use crate::model::data::Data;
use crate::model::event::EventKind;
use crate::model::flow::Block;
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

impl Run {
    /// Returns every declaration of a scope's state.
    pub fn schemas(&self, kind: ScopeKind) -> Vec<SchemaRef> {
        declared(&self.flow, kind)
    }

    /// Returns the defaults of the declared fields that a state does not have.
    pub(crate) fn missing(&self, kind: ScopeKind, state: &State) -> Map<String, Value> {
        let mut missing = defaults(&self.schemas(kind));
        missing.retain(|field, _| !state.has(field));
        missing
    }

    /// Creates the frame for the next execution of a path, with its initial state if the block declares one.
    pub fn frame(
        self: &Rc<Self>,
        block: Rc<Block>,
        path: Arc<str>,
        parent: Option<Rc<Frame>>,
        input: Data,
        tries: u32,
    ) -> Rc<Frame> {
        let attempt = {
            let mut attempts = self.attempts.borrow_mut();
            let next = attempts.entry(path.clone()).or_insert(0);
            *next += 1;
            *next - 1
        };
        self.frame_of(Instance::of(attempt), block, path, parent, input, tries)
    }

    /// Returns the instance as which a block goes on that was interrupted; once a run.
    pub(crate) fn interrupted(&self, block: &Block, path: &Arc<str>) -> Option<Instance> {
        if self.reuse == Reuse::Repeated || block.is_one_function() {
            return None;
        }
        let known = self.replay_cache.unfinished(path)?;
        let goes_on = known.kind == block.kind() && self.went_on.borrow_mut().insert(path.clone());
        goes_on.then(|| {
            let mut items = known.items.clone();
            items.begin_run();
            Instance { attempt: known.attempt(), own: known.own.clone(), items }
        })
    }

    /// Creates the frame of an instance.
    pub(crate) fn frame_of(
        self: &Rc<Self>,
        instance: Instance,
        block: Rc<Block>,
        path: Arc<str>,
        parent: Option<Rc<Frame>>,
        input: Data,
        tries: u32,
    ) -> Rc<Frame> {
        let Instance { attempt, own: recorded, items } = instance;
        let own = block.state_schema.as_ref().map(|schema| {
            let owner = StateOwner { request: &self.request, instance: InstanceId { path: &path, attempt } };
            let mut schemas = vec![schema.clone()];
            schemas.extend(block.joined.get().into_iter().flatten().cloned());
            let mut state = recorded.as_ref().map(State::recorded).unwrap_or_default();
            state.fill_in(&defaults(&schemas));
            Rc::new(SharedState::new(
                ScopeKey::new(block.state_scope(), owner.to_string()),
                schemas,
                state,
                self.next_stamp(),
            ))
        });
        let begins_round = self.effect_log.as_ref().is_some_and(|log| log.begins_round(&path, attempt));
        let tries = if begins_round { 0 } else { tries };
        let frame = Rc::new(Frame::new(block, path, attempt, tries, parent, input, own));
        frame.items_of_earlier_runs.replace(items);
        frame.register(&self.roots);
        frame
    }

    /// Returns the event with the state of its own that a block begins or goes on with. One that has ended, and is gone
    /// through for its background work, has it in the log already, but for a fork.
    pub(crate) fn first_state(&self, frame: &Frame) -> Option<EventKind> {
        let (own, durable) = (frame.own.as_ref()?, frame.block.has_checkpoints());
        let owner = SharedStateOwner::Of(frame.path.to_string());
        if frame.is_over.get() {
            return self.inherited(&owner, own, durable);
        }
        Some(self.initialized(&owner, own, durable))
    }

    /// Returns the event with which a fork takes over a state of the request that it comes from, as it was when the
    /// fork left it; `None` if the fork has it by an event of its own, and in other requests.
    pub(crate) fn inherited(&self, owner: &SharedStateOwner, state: &SharedState, durable: bool) -> Option<EventKind> {
        if self.reuse == Reuse::Repeated || self.own_states.as_ref()?.contains(&state.key) {
            return None;
        }
        Some(self.initialized(owner, state, durable))
    }

    /// Returns the event with a state in which all recorded writes are applied that are still to be.
    fn initialized(&self, owner: &SharedStateOwner, state: &SharedState, durable: bool) -> EventKind {
        let next = (*state.read().1).clone();
        // A resume that repeats records each write again.
        let next = if self.reuse == Reuse::Repeated { next } else { self.replay_cache.with_pending(owner, next) };
        EventKind::StateInitialized { scope: state.key.clone(), state: state.recordable_of(next), durable }
    }
}
