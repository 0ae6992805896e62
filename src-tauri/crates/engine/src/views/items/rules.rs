//! The only rule for which events of attempts still count as items, for readers of whole logs and of live logs.

use crate::model::event::{EventKind, Outcome};
use crate::model::scope::ScopeKind;
use crate::views::attempts::Stands;

/// The facts that decide whether an event of a block counts as an item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// The state of its attempt; `None` if that has not begun.
    pub stands: Option<Stands>,
    /// Whether its attempt was running when the request ended.
    pub was_cut: bool,
    /// Whether its attempt failed, and a resume ran it again.
    pub runs_again: bool,
    /// Whether it is before the start of its attempt.
    pub is_before_begin: bool,
    /// Whether it asks a question.
    pub is_question: bool,
    /// Whether it reports a failure: see [`is_told_failure`].
    pub is_told_failure: bool,
    /// Whether it writes to memory that blocks of a request share.
    pub is_shared_write: bool,
    /// Whether it belongs to a callback that returned.
    pub is_kept: bool,
    /// Whether a resume re-applied it.
    pub is_repeated: bool,
    /// Whether it belongs to a call of a callback that was called again.
    pub is_superseded: bool,
    /// Whether a resume took its attempt from the log.
    pub is_taken_from_log: bool,
    /// Whether it describes a run of its attempt: its initial state, or its end.
    pub is_of_run: bool,
    /// Whether its attempt continued later, so that a later run describes the attempt.
    pub went_on: bool,
}

impl Mark {
    /// Whether the event no longer counts as an item. `live` tells whether a process still runs the request.
    pub fn is_dropped(&self, live: bool) -> bool {
        // A question stays even if its attempt is rolled back. An event before the start of its block, such as the
        // user's message, belongs to the request.
        if self.is_question || self.is_before_begin {
            return false;
        }
        let has_gone = match self.stands {
            None | Some(Stands::Waiting) => false,
            Some(Stands::Ended { outcome, .. }) => outcome == Outcome::Abandoned,
            Some(Stands::Running) if live => false,
            // Only the events of returned callbacks still have an effect.
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

/// Whether an event describes a run of its attempt. If an attempt continues after an interruption, only the initial
/// state and the end of its newest run count.
pub fn is_of_run(kind: &EventKind) -> bool {
    match kind {
        EventKind::StateInitialized { scope, .. } => scope.kind == ScopeKind::Sequencer,
        EventKind::BlockFinished { .. } => true,
        _ => false,
    }
}

/// Whether an event reports a failure. It is committed before it is reported, so it stays even if the chain around it
/// is rolled back.
pub fn is_told_failure(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ItemAdded { item } if item.item_type == "step_error")
}
