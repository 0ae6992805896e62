//! One execution of one block: its path and attempt, its state and pending writes, and what other blocks may read of
//! it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use serde_json::Value;

use crate::execution::core::abort::Abort;
use crate::execution::core::nested::{Nested, NestedResults};
use crate::execution::core::shared::SharedState;
use crate::execution::core::transaction::Transaction;
use crate::execution::record::cache::recorded_items::RecordedItems;
use crate::execution::record::prior_attempt::AttemptEffects;
use crate::execution::run::role::BlockRole;
use crate::execution::run::siblings::{Children, Sibling};
use crate::model::callable::Issue;
use crate::model::data::Data;
use crate::model::effects::Listener;
use crate::model::error::FlowError;
use crate::model::event::Seq;
use crate::model::flow::Block;
use crate::model::identity::InstanceId;
use crate::model::resource::due::DueReaction;

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
    /// In which role the enclosing block runs it.
    pub(crate) role: RefCell<BlockRole>,
    /// The enclosing block.
    pub parent: Option<Rc<Frame>>,
    /// What it was called with.
    pub input: RefCell<Data>,
    /// What its schema made of its input, if a layer around it has parsed that.
    pub(crate) parsed_input: RefCell<Option<Result<Data, Vec<Issue>>>>,
    /// Its own state, where it declares one.
    pub own: Option<Rc<SharedState>>,
    /// Which model answered a generator: `{ requested, actual }`.
    pub(crate) model: RefCell<Option<Value>>,
    /// Receives what the author's own model streams, while that model is called for this block.
    pub(crate) listener: RefCell<Option<Listener>>,
    /// Its writes to durable records.
    pub transaction: Transaction,
    /// The shared states it wrote to.
    pub(crate) written: RefCell<Vec<Rc<SharedState>>>,
    /// Its effects and their results.
    pub(crate) effects: RefCell<Rc<AttemptEffects>>,
    /// Background work its chain started and has not waited for.
    pub(crate) tasks: RefCell<Vec<crate::execution::core::pool::Task>>,
    /// The blocks it dispatched; a block finds its elder siblings here.
    pub(crate) children: Children,
    /// Its own number among its parent's children.
    pub(crate) index: usize,
    pub(crate) outcome: RefCell<Option<Result<Data, FlowError>>>,
    pub(crate) rescued: Cell<bool>,
    pub(crate) ordinals: RefCell<HashMap<String, u32>>,
    /// Callbacks of collections that run now, each caused by a write of this block.
    pub(crate) callbacks: Cell<u32>,
    /// Its `container` item, once that was added.
    pub(crate) container: Cell<Option<OpenedContainer>>,
    /// The items of its earlier runs with which it has not gone on yet.
    pub(crate) items_of_earlier_runs: RefCell<RecordedItems>,
    /// Of a sequencer: the last operation that changed its state, or the rescue that ran instead.
    pub(crate) last_step: RefCell<Option<String>>,
    /// Set when it suspends: it has asked something that has no answer yet.
    pub(crate) suspended: Abort,
    /// Each `ctx.runOnce` that has begun and not ended, by its key.
    pub(crate) open_onces: RefCell<HashMap<String, OpenOnce>>,
    /// The blocks that its functions run at the moment.
    pub(crate) nested: Nested,
    /// The results of those that its body ran.
    pub(crate) nested_results: NestedResults,
    /// Whether it holds the right to commit while its body runs again after a conflict.
    pub(crate) holds_permit: Cell<bool>,
    /// The reactions to what it wrote, once that is committed.
    pub(crate) due: RefCell<Vec<DueReaction>>,
    /// Whether it may suspend: not while `userMessage` runs, before the block has started.
    pub(crate) can_suspend: Cell<bool>,
    /// Whether it runs branches of which not all may run at the same time.
    pub(crate) has_limit: Cell<bool>,
    /// Whether its end is in the log, and it runs only to reach the background work inside it.
    pub(crate) is_over: Cell<bool>,
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
        own: Option<Rc<SharedState>>,
    ) -> Self {
        let instance = InstanceId { path: &path, attempt }.to_string().into();
        let index = parent.as_ref().map_or(0, |parent| parent.children.next_index());
        Frame {
            block,
            path,
            attempt,
            tries,
            instance,
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            parent,
            input: RefCell::new(input),
            parsed_input: RefCell::default(),
            own,
            model: RefCell::default(),
            listener: RefCell::default(),
            open_onces: RefCell::default(),
            transaction: Transaction::default(),
            role: RefCell::default(),
            written: RefCell::default(),
            effects: RefCell::default(),
            tasks: RefCell::default(),
            children: Children::default(),
            index,
            outcome: RefCell::default(),
            rescued: Cell::new(false),
            ordinals: RefCell::default(),
            callbacks: Cell::new(0),
            container: Cell::default(),
            items_of_earlier_runs: RefCell::default(),
            last_step: RefCell::default(),
            suspended: Abort::default(),
            nested: Nested::default(),
            nested_results: NestedResults::default(),
            holds_permit: Cell::new(false),
            due: RefCell::default(),
            can_suspend: Cell::new(true),
            has_limit: Cell::new(false),
            is_over: Cell::new(false),
            finished: Cell::new(false),
        }
    }

    /// Registers it with its parent, so that later siblings find it.
    pub(crate) fn register(self: &Rc<Self>, roots: &Roots) {
        match &self.parent {
            Some(parent) => parent.children.push(self.clone()),
            None => roots.0.borrow_mut().push(Rc::downgrade(self)),
        }
    }

    /// Keeps the result for siblings that ask for it.
    pub(crate) fn end(&self, result: &Result<crate::model::step_value::StepValue, FlowError>) {
        self.effects.borrow().end();
        *self.outcome.borrow_mut() = Some(match result {
            Ok(value) => Ok(value.data.clone()),
            Err(error) => Err(error.clone()),
        });
    }

    /// Keeps the output of the rescue handler that answered for it, in place of its failure.
    pub(crate) fn end_rescued(&self, output: &crate::model::step_value::StepValue) {
        *self.outcome.borrow_mut() = Some(Ok(output.data.clone()));
        self.mark_rescued();
    }

    /// Notes which model answered: `{ requested, actual }`.
    pub fn answered_by(&self, model: Value) {
        *self.model.borrow_mut() = Some(model);
    }

    /// Returns the next number for this word, from 0: each word has a count of its own in a block.
    pub fn next_ordinal(&self, word: String) -> u32 {
        let mut ordinals = self.ordinals.borrow_mut();
        let count = ordinals.entry(word).or_insert(0);
        *count += 1;
        *count - 1
    }

    /// Notes that a rescue handler of its own has answered.
    pub(crate) fn mark_rescued(&self) {
        self.rescued.set(true);
    }

    /// Returns the newest of itself and the siblings dispatched before it that passes.
    pub(crate) fn newest_sibling(self: &Rc<Self>, is_wanted: impl Fn(&Sibling) -> bool) -> Option<Sibling> {
        match &self.parent {
            Some(parent) => parent.children.newest(self.index, is_wanted),
            None => Some(Sibling::Frame(self.clone())).filter(is_wanted),
        }
    }

    /// Returns the instance of the innermost block around an item of this frame that has a container. A block's
    /// own container is not inside itself: it is added before it counts as opened.
    pub(crate) fn container_around(&self, request: &str) -> Option<Arc<str>> {
        let own = self.container.get().is_some().then(|| format!("{request}:{}", self.instance).into());
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.container_around(request)))
    }

    /// Refuses writes from now on.
    pub fn finish(&self) {
        self.finished.set(true);
    }

    /// Whether its block has ended.
    pub fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// Iterates over this frame and its ancestors, nearest first.
    pub fn chain(self: &Rc<Self>) -> impl Iterator<Item = Rc<Frame>> {
        std::iter::successors(Some(self.clone()), |frame| frame.parent.clone())
    }
}

/// A `ctx.runOnce` that has not ended.
#[derive(Debug)]
pub(crate) struct OpenOnce {
    /// Its ordinal in its block.
    pub(crate) ordinal: u32,
    /// What it sends on its way.
    pub(crate) sent: Option<Value>,
}

/// A container that was added: by which event, and when.
#[derive(Clone, Copy)]
pub(crate) struct OpenedContainer {
    pub(crate) seq: Seq,
    pub(crate) at: i64,
}

/// The frames of a request without a parent.
///
/// Frames and their children hold each other by `Rc`, a reference cycle. Dropping this breaks all cycles; otherwise
/// the frames would leak, and with them the flow and its JavaScript runtime.
#[derive(Default)]
pub(crate) struct Roots(RefCell<Vec<Weak<Frame>>>);

impl Drop for Roots {
    fn drop(&mut self) {
        let mut frames: Vec<Rc<Frame>> = self.0.take().iter().filter_map(Weak::upgrade).collect();
        while let Some(frame) = frames.pop() {
            frames.append(&mut frame.children.take());
        }
    }
}
