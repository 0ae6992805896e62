//! HTTP exchanges that functions of a generator made before a resume, if the log cannot hold what they returned.
//!
//! The log cannot hold blocks and models that a function makes, so a resume calls `tools` and the like again. Their
//! exchanges have happened: they get the same answers (SEMANTICS §8.2), unless the log has them redacted. A sample of
//! an experiment has the exchanges of blocks that ran in parallel with its block, for the functions that made them.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::execution::record::prior_attempt::{AttemptEffects, FinishedEffect};
use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::redaction::REDACTED;
use crate::views::Events;

/// See the module: by the path of the block.
#[derive(Default)]
pub(crate) struct Exchanges(HashMap<Arc<str>, Rc<AttemptEffects>>);

impl Exchanges {
    /// Takes in the end of an exchange.
    pub(super) fn add(&mut self, path: &Arc<str>, event: &Event, log: Events<'_>) {
        let EventKind::EffectFinished { effect: EffectKind::Fetch, ordinal, started, request, result, error, .. } =
            &event.kind
        else {
            return;
        };
        let begun = started.and_then(|seq| log.get(seq)).and_then(|event| match &event.kind {
            EventKind::EffectStarted { request, .. } => request.clone(),
            _ => None,
        });
        // The log does not have the whole answer, and the flow needs it: the request is sent again.
        if result.to_string().contains(REDACTED) {
            return;
        }
        let answer = error.clone().map_or_else(|| Ok(result.clone()), Err);
        let request = request.clone().or(begun);
        let done = FinishedEffect { request, started: *started, finished: event.seq, answer };
        self.0.entry(path.clone()).or_insert_with(AttemptEffects::kept).keep(EffectKind::Fetch, *ordinal, done);
    }

    /// A function has returned what the log can hold: `is_own` says which events it made.
    pub(super) fn settle(&mut self, path: &str, is_own: impl Fn(Seq) -> bool) {
        if let Some(effects) = self.0.get(path) {
            effects.drop_ended(is_own);
        }
    }

    /// The generator has ended, or runs again.
    pub(super) fn forget(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// Returns the exchanges that the functions of a generator take their answers from.
    pub(crate) fn of(&self, path: &str) -> Option<Rc<AttemptEffects>> {
        self.0.get(path).cloned()
    }
}
