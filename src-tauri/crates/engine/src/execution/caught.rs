//! Who answers a failure: decided when a block fails, by the frames around it, and recorded with its end
//! (SEMANTICS §5.4). Whoever reads the log later need not find it out from what ran afterwards.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::execution::block::handler_of;
use crate::execution::frame::Frame;
use crate::model::error::FlowError;
use crate::model::event::CaughtBy;

/// As what the block around it runs a block.
#[derive(Clone, Default)]
pub(crate) enum Caller {
    /// Its failure is that of the block around it.
    #[default]
    Plain,
    /// It is one of several of which one has to succeed.
    Arm(Rc<Arms>, usize),
    /// It runs beside the chain.
    Background,
    /// A model asked for it, and is told how it ended.
    Tool,
    /// It handles a failure of the block around it.
    Rescue,
    /// Nobody waits for it.
    Hook,
}

/// Several blocks of which one has to succeed.
pub(crate) struct Arms {
    by: CaughtBy,
    count: usize,
    /// Those that have failed.
    failed: RefCell<BTreeSet<usize>>,
}

impl Arms {
    /// `by` is what the operation is.
    pub(crate) fn new(by: CaughtBy, count: usize) -> Rc<Arms> {
        Rc::new(Arms { by, count, failed: RefCell::default() })
    }

    /// Takes a failure. Answers whether another may still succeed.
    fn fail(&self, at: usize) -> bool {
        let mut failed = self.failed.borrow_mut();
        failed.insert(at);
        failed.len() < self.count
    }
}

impl Caller {
    /// An attempt begins: what failed before is tried again.
    pub(crate) fn begin(&self) {
        if let Caller::Arm(arms, at) = self {
            arms.failed.borrow_mut().remove(at);
        }
    }
}

/// Who catches a failure with which a block ends, if somebody does.
pub(crate) fn caught_by(frame: &Rc<Frame>, error: &FlowError) -> Option<CaughtBy> {
    if error.is_uncatchable() {
        return None;
    }
    // A sequencer's handlers have had their chance inside it.
    if !frame.block.rescues_inside() && handler_of(&frame.block.rescue, error).is_some() {
        return Some(CaughtBy::Rescue);
    }
    let (mut frame, mut error) = (frame.clone(), error.clone());
    loop {
        let caller = frame.caller.borrow().clone();
        match &caller {
            Caller::Background => return Some(CaughtBy::Background),
            Caller::Hook => return Some(CaughtBy::Hook),
            Caller::Tool if error.name != "LimitError" => return Some(CaughtBy::Tool),
            Caller::Arm(arms, at) => {
                if arms.fail(*at) {
                    return Some(arms.by);
                }
                // One block does not race: its failure is its own.
                if arms.by != CaughtBy::Race || arms.count > 1 {
                    error = FlowError::new("AggregateError", "");
                }
            }
            Caller::Plain | Caller::Tool | Caller::Rescue => {}
        }
        let parent = frame.parent.clone()?;
        // A handler does not answer its own failure.
        if !matches!(caller, Caller::Rescue) && handler_of(&parent.block.rescue, &error).is_some() {
            return Some(CaughtBy::Rescue);
        }
        frame = parent;
    }
}
