//! `ctx`, which an author's function can use, for any language.
//!
//! A context belongs to one execution of one block. Reads are immediate. Writes take the mutex of their state.
//! Emitted items and log lines never wait for the disk. Every effect is recorded with the block it belongs to.

mod block_lookup;
mod caller;
mod collections;
mod dispatch;
mod due;
mod durable;
mod earlier_effects;
mod effects;
mod emit;
mod inside;
mod next;
mod recorded;
mod resources;
mod session;
mod settling;
mod suspend;
mod target;
mod writes;

pub use crate::execution::run::context::Context;
pub use collections::Create;
pub use effects::EffectStart;
pub use emit::EmitOptions;
pub(crate) use inside::path_inside;
pub use resources::Entry;
pub use target::Target;
pub use writes::Change;

use std::rc::Rc;
use std::sync::Arc;

use crate::execution::core::shared::SharedState;
use crate::execution::run::frame::Frame;
use crate::execution::run::siblings::Sibling;
use crate::model::event::{EventKind, Seq};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

/// The prefix of the log line of an unhandled promise rejection.
pub const UNHANDLED: &str = "Unhandled promise rejection: ";

enum Place {
    Shared(Rc<SharedState>),
    Durable(ScopeKey),
}

impl Context {
    /// Returns the state behind a handle and a stamp that changes with it; `None` if there is none.
    pub fn read(&self, target: &Target) -> Option<(u64, Arc<State>)> {
        match self.place(target)? {
            Place::Shared(container) => {
                if self.run.has_concurrent_blocks.get() {
                    self.note_shared_read();
                }
                Some(container.read())
            }
            Place::Durable(key) => {
                self.note_shared_read();
                self.transaction().note_read(&key);
                self.transaction().read(&key)
            }
        }
    }

    /// Notes that a callback read something that other blocks may change, so that a resume takes its result from the
    /// log.
    fn note_shared_read(&self) {
        if let Some(call) = &self.call {
            call.note_shared_read();
        }
    }

    /// Returns the nearest enclosing sequencer that has a state, the block itself included.
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
                let sibling = self.frame.newest_sibling(|sibling| sibling.instance() == instance.as_str());
                let around = || self.frame.chain().find(|frame| *frame.instance == **instance).map(Sibling::Frame);
                sibling.or_else(around)?.own().map(Place::Shared)
            }
            // Resources are read on first use, which may fail: see `resources`.
            Target::Resource(..) => None,
        }
    }

    /// `console.*`.
    pub fn log(&self, level: &str, text: String) {
        self.record(EventKind::Logged { level: level.to_owned(), text });
    }

    /// Logs an unhandled promise rejection.
    pub fn unhandled(&self, error: &str) {
        self.log("error", format!("{UNHANDLED}{error}"));
    }

    /// Records an event of this block.
    pub fn record(&self, kind: EventKind) -> Seq {
        if matches!(kind, EventKind::ItemAdded { .. } | EventKind::StateChanged { .. }) {
            self.show_earlier_items();
        }
        let seq = self.run.record(&self.frame, kind);
        self.add_to_call(seq);
        seq
    }

    /// In a replay: shows the items that existed when the recorded execution began.
    pub(crate) fn show_earlier_items(&self) {
        match &self.call {
            Some(call) => self.run.show_items_before_call(&self.frame, &call.name),
            None => self.run.show_items_before(&self.frame),
        }
    }

    /// Adds an event to the callback call that runs now, if any.
    fn add_to_call(&self, seq: Seq) {
        if let Some(call) = &self.call {
            let mut events = call.events.borrow_mut();
            // A piece of text may have been joined with the previous event.
            if events.last() != Some(&seq) {
                events.push(seq);
            }
        }
    }
}
