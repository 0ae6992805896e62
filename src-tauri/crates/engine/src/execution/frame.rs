//! One execution of one block: where it stands, what it holds, and what its siblings may ask of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use serde_json::Value;

use crate::execution::abort::Abort;
use crate::execution::caught::Caller;
use crate::execution::replay::prior_attempt::AttemptEffects;
use crate::execution::state::shared::Container;
use crate::execution::state::transaction::Transaction;
use crate::model::data::Data;
use crate::model::effects::Listener;
use crate::model::error::FlowError;
use crate::model::flow::Block;
use crate::model::identity::InstanceId;

/// One execution of one block.
pub struct Frame {
    /// What runs.
    pub block: Rc<Block>,
    /// Its logical path.
    pub path: Arc<str>,
    /// Which execution of the path.
    pub attempt: u32,
    /// Which try by `retry`, as `ctx.attempt` shows it.
    pub tries: u32,
    /// `path:attempt`.
    pub instance: Arc<str>,
    /// How many blocks are around it.
    pub(crate) depth: u32,
    /// As what the block around it runs it.
    pub(crate) caller: RefCell<Caller>,
    /// The block around it.
    pub parent: Option<Rc<Frame>>,
    /// What it was called with.
    pub input: RefCell<Data>,
    /// Its own state, where it declares one.
    pub own: Option<Rc<Container>>,
    /// Which model answered a generator: `{ requested, actual }`.
    pub(crate) model: RefCell<Option<Value>>,
    /// Hears the author's own model that answers this block now.
    pub(crate) listener: RefCell<Option<Listener>>,
    /// Its writes to durable records.
    pub transaction: Transaction,
    /// The shared memory it wrote to.
    pub(crate) written: RefCell<Vec<Rc<Container>>>,
    /// What it got from outside.
    pub(crate) effects: RefCell<Rc<AttemptEffects>>,
    /// Background work its chain started and has not waited for.
    pub(crate) tasks: RefCell<Vec<crate::execution::chain::background::Task>>,
    /// The blocks it dispatched, in order; a block finds its elder siblings here.
    children: RefCell<Vec<Rc<Frame>>>,
    /// Its own place among its parent's children.
    index: usize,
    pub(crate) outcome: RefCell<Option<Result<Data, FlowError>>>,
    pub(crate) rescued: Cell<bool>,
    pub(crate) ordinals: RefCell<HashMap<String, u32>>,
    /// Callbacks of collections that run now, each caused by a write of this block.
    pub(crate) callbacks: Cell<u32>,
    /// Its `container` item, once that was added.
    pub(crate) container: Cell<Option<crate::execution::container::Opened>>,
    /// What changed a sequencer's state last: the operation, or the rescue that took its place.
    pub(crate) last_step: RefCell<Option<String>>,
    /// Set when it asks something and there is no answer.
    pub(crate) suspended: Abort,
    /// Whether it may ask: not before its block has begun.
    pub(crate) can_wait: Cell<bool>,
    finished: Cell<bool>,
}

impl Frame {
    /// A frame that has not begun.
    pub fn new(
        block: Rc<Block>,
        path: Arc<str>,
        attempt: u32,
        tries: u32,
        parent: Option<Rc<Frame>>,
        input: Data,
        own: Option<Rc<Container>>,
    ) -> Self {
        let instance = InstanceId { path: &path, attempt }.to_string().into();
        let index = parent.as_ref().map_or(0, |parent| parent.children.borrow().len());
        Frame {
            block,
            path,
            attempt,
            tries,
            instance,
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            parent,
            input: RefCell::new(input),
            own,
            model: RefCell::default(),
            listener: RefCell::default(),
            transaction: Transaction::default(),
            caller: RefCell::default(),
            written: RefCell::default(),
            effects: RefCell::default(),
            tasks: RefCell::default(),
            children: RefCell::default(),
            index,
            outcome: RefCell::default(),
            rescued: Cell::new(false),
            ordinals: RefCell::default(),
            callbacks: Cell::new(0),
            container: Cell::default(),
            last_step: RefCell::default(),
            suspended: Abort::default(),
            can_wait: Cell::new(true),
            finished: Cell::new(false),
        }
    }

    /// Makes it known to its younger siblings.
    pub(crate) fn register(self: &Rc<Self>, roots: &Roots) {
        match &self.parent {
            Some(parent) => parent.children.borrow_mut().push(self.clone()),
            None => roots.0.borrow_mut().push(Rc::downgrade(self)),
        }
    }

    /// Keeps how it ended, for siblings that ask.
    pub(crate) fn end(&self, result: &Result<crate::execution::step_value::StepValue, FlowError>) {
        self.effects.borrow().end();
        *self.outcome.borrow_mut() = Some(match result {
            Ok(flowing) => Ok(flowing.data.clone()),
            Err(error) => Err(error.clone()),
        });
    }

    pub(crate) fn mark_rescued(&self) {
        self.rescued.set(true);
    }

    /// Elder siblings and itself, newest first.
    pub(crate) fn siblings(self: &Rc<Self>) -> Vec<Rc<Frame>> {
        match &self.parent {
            Some(parent) => parent.children.borrow().iter().take(self.index + 1).rev().cloned().collect(),
            None => vec![self.clone()],
        }
    }

    /// Refuses writes from now on.
    pub fn finish(&self) {
        self.finished.set(true);
    }

    /// Whether its block has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// This frame and all around it, nearest first.
    pub fn chain(self: &Rc<Self>) -> impl Iterator<Item = Rc<Frame>> {
        std::iter::successors(Some(self.clone()), |frame| frame.parent.clone())
    }
}

/// The frames of a request that no other is around.
///
/// A frame has its children, and they have it: without a cut they would keep each other, and with them
/// their flow and its runtime, when nothing runs any more.
#[derive(Default)]
pub(crate) struct Roots(RefCell<Vec<Weak<Frame>>>);

impl Drop for Roots {
    fn drop(&mut self) {
        let mut frames: Vec<Rc<Frame>> = self.0.take().iter().filter_map(Weak::upgrade).collect();
        while let Some(frame) = frames.pop() {
            frames.append(&mut frame.children.borrow_mut());
        }
    }
}
