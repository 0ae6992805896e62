//! The context of an author's function: the request, the block, and the call that it belongs to.
//!
//! Its functions are in `ctx`.

use std::rc::Rc;

use crate::execution::run::Run;
use crate::execution::run::callback_call::CallbackCall;
use crate::execution::run::frame::Frame;
use crate::execution::run::next::Next;
use crate::model::callable::Invocation;

/// `ctx`: the request and the block it belongs to.
#[derive(Clone)]
pub struct Context {
    /// The request.
    pub run: Rc<Run>,
    /// The block.
    pub frame: Rc<Frame>,
    /// The callback call that runs now; `None` in a handler, whose function is part of the block itself.
    pub(crate) call: Option<Rc<CallbackCall>>,
    /// In middleware: what `next()` runs.
    pub(crate) next: Option<Rc<Next>>,
}

impl Context {
    /// Returns the context of a block itself, outside of any callback.
    pub(crate) fn new(run: Rc<Run>, frame: Rc<Frame>) -> Self {
        Context { run, frame, call: None, next: None }
    }

    /// Returns the context of a call of an author's function.
    ///
    /// # Panics
    ///
    /// Never: every [`Invocation`] is made here.
    pub fn of(invocation: &Invocation) -> Context {
        let context = invocation.get::<Context>();
        context.cloned().expect("an invocation stands for a context")
    }

    /// Returns the handle that a call of an author's function gets for this context.
    pub(crate) fn invocation(&self) -> Invocation {
        Invocation::new(self.clone())
    }

    /// Returns this context for one callback call.
    pub(crate) fn for_call(&self, call: Rc<CallbackCall>) -> Self {
        Context { call: Some(call), ..self.clone() }
    }
}
