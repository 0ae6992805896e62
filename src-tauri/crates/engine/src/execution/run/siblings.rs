//! What a block finds of those that its parent dispatched before it.
//!
//! A parent keeps the frame of a block only while something refers to it. Of one that has ended it keeps what siblings
//! may still ask for, and nothing where a later block of that name answers in its place. So a loop of a million steps
//! needs no more memory than one of ten, and a chain of many names little for each.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::execution::core::shared::SharedState;
use crate::execution::run::frame::Frame;
use crate::model::data::Data;
use crate::model::error::FlowError;

/// How many more children there must be, at least, before the ended ones among them are looked for again.
const MIN_GROWTH: usize = 32;

/// What siblings may ask of a block that has ended.
pub struct Ended {
    index: usize,
    name: Arc<str>,
    instance: Arc<str>,
    input: Data,
    own: Option<Rc<SharedState>>,
    outcome: Option<Result<Data, Box<FlowError>>>,
    rescued: bool,
}

/// A block as its later siblings see it.
#[derive(Clone)]
pub enum Sibling {
    /// It may be running.
    Frame(Rc<Frame>),
    /// It has ended, and nothing refers to its frame any more.
    Ended(Rc<Ended>),
}

impl Sibling {
    fn index(&self) -> usize {
        match self {
            Sibling::Frame(frame) => frame.index,
            Sibling::Ended(ended) => ended.index,
        }
    }

    /// Its block's name.
    pub fn name(&self) -> &str {
        match self {
            Sibling::Frame(frame) => &frame.block.name,
            Sibling::Ended(ended) => &ended.name,
        }
    }

    /// `path:attempt`.
    pub fn instance(&self) -> &str {
        match self {
            Sibling::Frame(frame) => &frame.instance,
            Sibling::Ended(ended) => &ended.instance,
        }
    }

    /// What it was called with.
    pub fn input(&self) -> Data {
        match self {
            Sibling::Frame(frame) => frame.input.borrow().clone(),
            Sibling::Ended(ended) => ended.input.clone(),
        }
    }

    /// Its own state, where it declares one.
    pub fn own(&self) -> Option<Rc<SharedState>> {
        match self {
            Sibling::Frame(frame) => frame.own.clone(),
            Sibling::Ended(ended) => ended.own.clone(),
        }
    }

    /// Its result; `None` while it has none.
    pub fn outcome(&self) -> Option<Result<Data, FlowError>> {
        match self {
            Sibling::Frame(frame) => frame.outcome.borrow().clone(),
            Sibling::Ended(ended) => ended.outcome.clone().map(|outcome| outcome.map_err(|error| *error)),
        }
    }

    /// Whether it ended without a failure.
    pub(crate) fn has_completed(&self) -> bool {
        match self {
            Sibling::Frame(frame) => matches!(*frame.outcome.borrow(), Some(Ok(_))),
            Sibling::Ended(ended) => matches!(ended.outcome, Some(Ok(_))),
        }
    }

    /// Whether a rescue handler answered in its place.
    pub fn is_rescued(&self) -> bool {
        match self {
            Sibling::Frame(frame) => frame.rescued.get(),
            Sibling::Ended(ended) => ended.rescued,
        }
    }
}

/// The blocks that a block dispatched, in order.
#[derive(Default)]
pub(crate) struct Children {
    /// Ordered by their numbers.
    kept: RefCell<Vec<Sibling>>,
    dispatched: Cell<usize>,
    /// At how many the ended ones are looked for.
    limit: Cell<usize>,
}

impl Children {
    /// Returns the number of the next child.
    pub(crate) fn next_index(&self) -> usize {
        self.dispatched.get()
    }

    /// Adds a child with the next number.
    pub(crate) fn push(&self, child: Rc<Frame>) {
        self.dispatched.set(child.index + 1);
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= self.limit.get().max(MIN_GROWTH) {
            compact(&mut kept);
            self.limit.set(kept.len() + (kept.len() / 8).max(MIN_GROWTH));
        }
        kept.push(Sibling::Frame(child));
    }

    /// Returns the newest of the child and those dispatched before it that passes.
    pub(crate) fn newest(&self, index: usize, is_wanted: impl Fn(&Sibling) -> bool) -> Option<Sibling> {
        let kept = self.kept.borrow();
        kept.iter().rev().skip_while(|child| child.index() > index).find(|child| is_wanted(child)).cloned()
    }

    /// Removes all children, and returns the frames among them.
    pub(crate) fn take(&self) -> Vec<Rc<Frame>> {
        let frame = |child| match child {
            Sibling::Frame(frame) => Some(frame),
            Sibling::Ended(_) => None,
        };
        self.kept.take().into_iter().filter_map(frame).collect()
    }

    /// Returns how many frames refer to their parent from here, or `None` if one of them is in use.
    fn unused(&self) -> Option<usize> {
        let kept = self.kept.borrow();
        let frames = kept.iter().filter_map(|child| match child {
            Sibling::Frame(frame) => Some(frame),
            Sibling::Ended(_) => None,
        });
        frames.map(is_unused).try_fold(0, |count, is_unused| is_unused.then_some(count + 1))
    }
}

/// Returns whether only its parent, and its own children, refer to a frame: it has ended, and so have they.
fn is_unused(frame: &Rc<Frame>) -> bool {
    frame.children.unused().is_some_and(|children| Rc::strong_count(frame) == 1 + children)
}

/// Keeps of frames that nothing refers to what siblings may ask for, and nothing where a newer block of the name
/// answers in its place for everyone who may ask.
fn compact(children: &mut Vec<Sibling>) {
    // Of each name whether a newer block answers for its output, too: `getBlockOutput` wants one that completed.
    let mut answered: HashMap<String, bool> = HashMap::new();
    let mut kept = Vec::with_capacity(children.len());
    for child in children.drain(..).rev() {
        let (name, has_completed) = (child.name().to_owned(), child.has_completed());
        let child = match child {
            Sibling::Frame(frame) if !is_unused(&frame) => {
                // It sees the older blocks, and none of the newer ones.
                answered.clear();
                Sibling::Frame(frame)
            }
            _ if answered.get(&name).is_some_and(|is_completed| *is_completed || !has_completed) => {
                discard(child);
                continue;
            }
            Sibling::Frame(frame) => {
                let ended = Sibling::Ended(Rc::new(ended(&frame)));
                discard(Sibling::Frame(frame));
                ended
            }
            ended => ended,
        };
        *answered.entry(name).or_default() |= has_completed;
        kept.push(child);
    }
    kept.reverse();
    *children = kept;
}

fn ended(frame: &Frame) -> Ended {
    Ended {
        index: frame.index,
        name: frame.block.name.clone(),
        instance: frame.instance.clone(),
        input: frame.input.borrow().clone(),
        own: frame.own.clone(),
        outcome: frame.outcome.borrow().clone().map(|outcome| outcome.map_err(Box::new)),
        rescued: frame.rescued.get(),
    }
}

/// Drops a child. A frame and its children refer to each other, so the children are removed one by one.
fn discard(child: Sibling) {
    let Sibling::Frame(frame) = child else { return };
    let mut frames = vec![frame];
    while let Some(frame) = frames.pop() {
        frames.append(&mut frame.children.take());
    }
}
