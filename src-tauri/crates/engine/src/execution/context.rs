//! What an author's function can reach: `ctx`, for any language.
//!
//! A context belongs to one execution of one block. Reads are immediate; writes wait their turn;
//! emitted items and log lines are evidence and never wait for the disk. Every effect that goes
//! through here is recorded with the block it belongs to.

mod collections;
mod durable;
mod effects;
mod emit;
mod relatives;
mod resources;
mod session;
mod target;
mod writes;

pub use collections::Create;
pub use effects::Begun;
pub use emit::EmitOptions;
pub use resources::Entry;
pub use target::Target;
pub use writes::Change;

use std::rc::Rc;
use std::sync::Arc;

use crate::execution::callback::CallbackCall;
use crate::execution::frame::Frame;
use crate::execution::request::Run;
use crate::execution::state::shared::Container;
use crate::model::callable::Invocation;
use crate::model::event::{EventKind, Seq};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

/// How the log line of a failure begins that nobody waits for.
pub const UNHANDLED: &str = "Unhandled promise rejection: ";

enum Place {
    Shared(Rc<Container>),
    Durable(ScopeKey),
}

/// `ctx`: the request and the block it belongs to.
#[derive(Clone)]
pub struct Context {
    /// The request.
    pub run: Rc<Run>,
    /// The block.
    pub frame: Rc<Frame>,
    /// The call of one of its functions that runs now, where those are counted one by one.
    pub(crate) call: Option<Rc<CallbackCall>>,
}

impl Context {
    /// A block's own.
    pub(crate) fn new(run: Rc<Run>, frame: Rc<Frame>) -> Self {
        Context { run, frame, call: None }
    }

    /// What a call of an author's function stands for.
    ///
    /// # Panics
    ///
    /// Never: every [`Invocation`] is made here.
    pub fn of(invocation: &Invocation) -> Context {
        let context = invocation.get::<Context>();
        context.cloned().expect("an invocation stands for a context")
    }

    /// The call of an author's function that this context is for.
    pub(crate) fn invocation(&self) -> Invocation {
        Invocation::new(self.clone())
    }

    /// The same, for one call of a function.
    pub(crate) fn within(&self, call: Rc<CallbackCall>) -> Self {
        Context { call: Some(call), ..self.clone() }
    }

    /// The state behind a handle and a stamp that changes with it; `None` where there is none.
    pub fn read(&self, target: &Target) -> Option<(u64, Arc<State>)> {
        match self.place(target)? {
            Place::Shared(container) => {
                if self.run.has_concurrent_blocks.get() {
                    self.look();
                }
                Some(container.read())
            }
            Place::Durable(key) => {
                self.look();
                self.transaction().note_read(&key);
                self.transaction().read(&key)
            }
        }
    }

    /// Notes that a function looked at what others may change.
    fn look(&self) {
        if let Some(call) = &self.call {
            call.look();
        }
    }

    /// The nearest sequencer around that has a state, the block itself included.
    pub fn sequencer(&self) -> Option<Rc<Frame>> {
        let has_state = |frame: &Rc<Frame>| frame.own.as_ref().is_some_and(|own| own.key.kind == ScopeKind::Sequencer);
        self.frame.chain().find(has_state)
    }

    fn place(&self, target: &Target) -> Option<Place> {
        let durable = |kind: ScopeKind| self.run.durable_key(kind).map(Place::Durable);
        match target {
            Target::Request => Some(Place::Shared(self.run.state.clone())),
            Target::Session => durable(ScopeKind::Session),
            Target::User => durable(ScopeKind::User),
            Target::Project => durable(ScopeKind::Project),
            Target::Sequencer => self.sequencer()?.own.clone().map(Place::Shared),
            Target::Own => self.frame.own.clone().map(Place::Shared),
            Target::Parent => self.frame.parent.as_ref()?.own.clone().map(Place::Shared),
            Target::Instance(instance) => {
                let frames = self.frame.siblings().into_iter().chain(self.frame.chain());
                frames.into_iter().find(|frame| *frame.instance == **instance)?.own.clone().map(Place::Shared)
            }
            // Seen when it is looked at, which may fail: see `resources`.
            Target::Resource(..) => None,
        }
    }

    /// `console.*`.
    pub fn log(&self, level: &str, text: String) {
        self.record(EventKind::Logged { level: level.to_owned(), text });
    }

    /// A promise failed, and nobody waits for it.
    pub fn unhandled(&self, error: &str) {
        self.log("error", format!("{UNHANDLED}{error}"));
    }

    /// Records an event of this block.
    pub fn record(&self, kind: EventKind) -> Seq {
        let seq = self.run.record(&self.frame, kind);
        self.did(seq);
        seq
    }

    /// Notes that an event is evidence of the function that runs now.
    fn did(&self, seq: Seq) {
        if let Some(call) = &self.call {
            call.events.borrow_mut().push(seq);
        }
    }
}
