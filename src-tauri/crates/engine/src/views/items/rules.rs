//! Which events of attempts are items still: the one rule, for whoever reads a whole log and whoever follows it.

use crate::model::event::{EventKind, Outcome};
use crate::model::scope::ScopeKind;
use crate::views::attempts::Stands;

/// What decides whether an event of a block counts as an item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// How its attempt stands; none where that has not begun.
    pub stands: Option<Stands>,
    /// Whether its attempt was running when the request ended.
    pub was_cut: bool,
    /// Whether its attempt failed, and a resume ran it again.
    pub runs_again: bool,
    /// Whether it stands before the begin of its attempt.
    pub is_before_begin: bool,
    /// Whether it asks a question.
    pub is_question: bool,
    /// Whether it tells a failure: see [`is_told_failure`].
    pub is_told_failure: bool,
    /// Whether it writes to the memory that blocks of a request share.
    pub is_shared_write: bool,
    /// Whether a callback did it that has returned.
    pub is_kept: bool,
    /// Whether a resume brought it into force again.
    pub is_repeated: bool,
    /// Whether a call of a callback did it that was called again.
    pub is_superseded: bool,
    /// Whether a resume took its attempt from the log.
    pub is_taken_from_log: bool,
    /// Whether it tells how a run of its attempt stood: the state that it began with, or its end.
    pub is_of_run: bool,
    /// Whether its attempt went on after it: a later run tells how the attempt stands.
    pub went_on: bool,
}

impl Mark {
    /// Whether the event is no item any more. `live` says whether the request's process still runs it.
    pub fn is_dropped(&self, live: bool) -> bool {
        // A question stays asked, whatever becomes of the attempt that asked it. What stands before its block begins
        // belongs to the request: the user's message.
        if self.is_question || self.is_before_begin {
            return false;
        }
        let has_gone = match self.stands {
            None | Some(Stands::Waiting) => false,
            Some(Stands::Ended { outcome, .. }) => outcome == Outcome::Abandoned,
            Some(Stands::Running) if live => false,
            // All it did is without effect, but for what callbacks did that had returned.
            Some(Stands::Running | Stands::CutOff | Stands::Waited) => !self.is_kept && !self.is_told_failure,
        };
        let is_of_earlier_run = self.is_of_run && self.went_on;
        let is_repeated = self.is_repeated || self.is_taken_from_log;
        has_gone || is_repeated || self.is_superseded || self.is_rolled_back(live) || is_of_earlier_run
    }

    fn is_rolled_back(&self, live: bool) -> bool {
        let stands = self.stands.filter(|_| self.is_shared_write);
        stands.is_some_and(|stands| {
            let is_rolled_back = self.runs_again || stands.is_rolled_back(self.was_cut, live);
            self.is_superseded || (is_rolled_back && !self.is_kept && !self.is_repeated)
        })
    }

    /// Whether the block of an item that is in progress has ended without ending it.
    pub fn has_ended(&self, live: bool) -> bool {
        self.stands.is_none_or(|stands| stands.has_ended(live))
    }
}

/// Whether an event tells how a run of its attempt stood. An attempt that goes on after an interruption has one state
/// and one end: those of its newest run.
pub fn is_of_run(kind: &EventKind) -> bool {
    match kind {
        EventKind::StateInitialized { scope, .. } => scope.kind == ScopeKind::Sequencer,
        EventKind::BlockFinished { .. } => true,
        _ => false,
    }
}

/// A failure that was told is committed before it is told: it stays, whatever becomes of the chain around.
pub fn is_told_failure(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ItemAdded { item } if item.item_type == "step_error")
}
