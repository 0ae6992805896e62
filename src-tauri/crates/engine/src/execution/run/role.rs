//! In which role the enclosing block runs a block, and what that role knows of its failures.
//!
//! Must not decide who catches a failure: `caught` does.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::execution::run::callback_call::CallbackCall;
use crate::model::event::CaughtBy;

/// In which role the enclosing block runs a block. It decides what happens after a failure.
#[derive(Clone, Default)]
pub enum BlockRole {
    /// Its failure is that of the enclosing block.
    #[default]
    Plain,
    /// One of several branches of which one has to succeed, by its index.
    Branch(Rc<Branches>, usize),
    /// Background work of a chain.
    Background,
    /// A tool call: the model gets the error as the result.
    Tool(CallTry),
    /// A rescue handler of the enclosing block.
    Rescue,
    /// A hook whose failure is only reported.
    Hook,
    /// A block that a function runs by `block.run`, which may catch the error; with the callback call that runs it.
    Called(Option<Rc<CallbackCall>>),
}

/// One try of a tool call: whether it may run for a limited time, and whether it has run longer. Its block goes on
/// then, and its end is recorded as late.
#[derive(Clone, Default)]
pub struct CallTry {
    /// How many tries of the call failed before, if its caller decides about retries.
    failed_before: Option<u32>,
    has_limit: bool,
    exceeded: Rc<Cell<Option<u64>>>,
}

impl CallTry {
    /// A try after so many that failed; it may run for `ms` milliseconds, or for as long as it takes.
    pub(crate) fn after(failed_before: u32, ms: Option<u64>) -> CallTry {
        CallTry { failed_before: Some(failed_before), has_limit: ms.is_some(), exceeded: Rc::default() }
    }

    /// How many tries of the call failed before, if its caller decides about retries.
    pub(crate) fn failed_before(&self) -> Option<u32> {
        self.failed_before
    }

    /// Whether the call is given up after some time.
    pub(crate) fn has_limit(&self) -> bool {
        self.has_limit
    }

    /// Notes that the call was given up after `ms` milliseconds.
    pub(crate) fn exceed(&self, ms: u64) {
        self.exceeded.set(Some(ms));
    }
}

/// The branches of a `stepAny` or a `race`, of which one has to succeed.
pub struct Branches {
    pub(crate) by: CaughtBy,
    pub(crate) count: usize,
    /// The indexes of those that have failed.
    failed: RefCell<BTreeSet<usize>>,
}

impl Branches {
    /// `by` names the operation: `stepAny` or `race`.
    pub(crate) fn new(by: CaughtBy, count: usize) -> Rc<Branches> {
        Rc::new(Branches { by, count, failed: RefCell::default() })
    }

    /// Counts a failure. Returns whether another branch may still succeed.
    pub(crate) fn fail(&self, at: usize) -> bool {
        let mut failed = self.failed.borrow_mut();
        failed.insert(at);
        failed.len() < self.count
    }
}

impl BlockRole {
    /// The timeout in milliseconds after which the call was given up that runs the block, if it was.
    pub(crate) fn timed_out_ms(&self) -> Option<u64> {
        match self {
            BlockRole::Tool(timeout) => timeout.exceeded.get(),
            _ => None,
        }
    }

    /// Notes that an attempt starts: an earlier failure of the branch no longer counts.
    pub(crate) fn begin(&self) {
        if let BlockRole::Branch(branches, at) = self {
            branches.failed.borrow_mut().remove(at);
        }
    }
}
