//! Views: pure functions from a request's events to what people see.
//!
//! The same events always give the same view, in the window, on the command line and in a flow's
//! own `ctx.session.items`. Nothing here stores anything or reads a clock.

pub(crate) mod asked_again;
pub mod attempts;
pub mod blocks;
pub(crate) mod detached;
pub mod diff;
pub mod flow_state;
pub mod fork_edits;
pub mod history;
pub mod in_force;
pub mod items;
pub mod model_requests;
pub mod place;
pub mod prompt_sources;
pub mod references;
pub mod repeated_writes;
pub mod replay_order;
pub mod retention;
pub mod search;
pub mod shape;
pub mod snapshots;
pub mod spans;
pub mod suspensions;
pub mod trace;
pub mod uncertain_effects;
pub mod under_way;
pub mod usage;

use serde_json::Value;

use crate::model::event::{Event, EventKind, Recorded, Seq};
use fork_edits::{edited_input, edited_value};

/// A request's events in `seq` order, with look-ups by number.
#[derive(Clone, Copy)]
pub struct Events<'a>(&'a [Event]);

impl<'a> Events<'a> {
    /// Wraps events in `seq` order.
    pub fn new(events: &'a [Event]) -> Self {
        Events(events)
    }

    /// The event of a number, if it is among these.
    pub fn get(&self, seq: Seq) -> Option<&'a Event> {
        let first = self.0.first()?.seq;
        let index = usize::try_from(seq.checked_sub(first)?).ok()?;
        // In a complete log the index is right; a filtered list is searched.
        match self.0.get(index) {
            Some(event) if event.seq == seq => Some(event),
            _ => self.0.binary_search_by_key(&seq, |event| event.seq).ok().map(|at| &self.0[at]),
        }
    }

    /// A recorded value, following references to earlier events; `None` for `undefined`.
    pub fn value(&self, recorded: &'a Recorded) -> Option<&'a Value> {
        let mut recorded = recorded;
        loop {
            match recorded {
                Recorded::Value(value) => return Some(value),
                Recorded::Undefined => return None,
                Recorded::Of(seq) => recorded = self.held_by(*seq)?,
            }
        }
    }

    /// The input of the request, or the edited input of a fork.
    pub fn input(&self) -> Option<&'a Value> {
        let held_by = edited_input(self.0).or(self.0.first().map(|event| event.seq))?;
        self.value(self.held_by(held_by)?)
    }

    /// The request of an effect that ended. Messages of a model call may be references: see [`asked`].
    pub fn effect_request(&self, kind: &'a EventKind) -> Option<&'a Value> {
        let EventKind::EffectFinished { started, request, .. } = kind else { return None };
        request.as_ref().or_else(|| match &self.get((*started)?)?.kind {
            EventKind::EffectStarted { request, .. } | EventKind::EffectFinished { request, .. } => request.as_ref(),
            _ => None,
        })
    }

    /// All events.
    pub fn iter(&self) -> impl Iterator<Item = &'a Event> + use<'a> {
        self.0.iter()
    }

    fn held_by(&self, seq: Seq) -> Option<&'a Recorded> {
        match &self.get(seq)?.kind {
            EventKind::RequestStarted { input, .. } | EventKind::BlockInput { input } => Some(input),
            EventKind::BlockFinished { output, .. } => output.as_ref(),
            kind => edited_value(kind),
        }
    }
}
