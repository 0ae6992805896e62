//! Which failures a resume of a failed request takes from the log, and which blocks it runs again.
//!
//! A failure that was caught is part of how the request went (decision 6): it stays. What made the
//! request fail, and what failed beside it unheard, runs again. Must not look at code.

use std::collections::HashSet;
use std::sync::Arc;

use super::Memo;
use crate::error::FlowError;
use crate::event::BlockKind;
use crate::hooks::is_looking_on;

impl Memo {
    /// Takes the end of a request that failed: what must be tried again is forgotten.
    pub(super) fn forget_failures(&mut self, terminal: &FlowError) {
        self.questions.forget_unanswered();
        let failed: HashSet<Arc<str>> =
            self.finished.iter().filter(|(_, done)| done.result.is_err()).map(|(path, _)| path.clone()).collect();
        for path in &failed {
            let is_terminal = is_around(path, terminal.path.as_deref().unwrap_or_default());
            if !self.was_handed_on(path) && (is_terminal || !self.is_caught(path)) {
                self.finished.remove(path);
                self.told.remove(path);
                self.questions.forget_refusal(path);
                // The last answer of a model is what its generator failed with.
                if let Some(calls) = self.calls.get_mut(path) {
                    calls.pop();
                }
                self.forget_last_answer(path);
            }
        }
    }

    /// Forgets what the author's own model answered last: asked again, its function is called again.
    fn forget_last_answer(&mut self, path: &str) {
        let Some(functions) = self.functions.get_mut(path) else { return };
        let numbers = functions.keys().filter_map(|name| name.strip_prefix("generate#")?.parse::<u32>().ok());
        if let Some(last) = numbers.max() {
            functions.remove(&format!("generate#{last}"));
        }
    }

    /// Whether a block's own rescue took its failure on, whatever came of that. A chain's rescue stands
    /// inside the chain: what the chain failed with is what the rescue failed with.
    fn was_handed_on(&self, path: &str) -> bool {
        let is_chain = self.finished.get(path).is_some_and(|done| done.kind == BlockKind::Sequencer);
        !is_chain && self.has_run(&format!("{path}/rescue:"))
    }

    fn has_run(&self, start: &str) -> bool {
        self.attempts.keys().any(|other| other.starts_with(start))
    }

    fn is_caught(&self, path: &str) -> bool {
        let Some((parent, segment)) = path.rsplit_once('/') else { return false };
        // Whoever only looks on fails nothing.
        if is_looking_on(path) {
            return true;
        }
        // A rescue does not answer its own failure.
        if !segment.starts_with("rescue:") && self.has_run(&format!("{parent}/rescue:")) {
            return true;
        }
        if segment.starts_with("tool:") || segment.starts_with("work:") || segment.starts_with("forEachBackground") {
            return true;
        }
        // Of those that race, or are tried in turn, one came through.
        let is_choice = segment.starts_with("stepAny") || segment.starts_with("race");
        let operation = segment.split('[').next().unwrap_or_default();
        let siblings = format!("{parent}/{operation}[");
        is_choice
            && self.attempts.keys().any(|other| {
                other.strip_prefix(&siblings).is_some_and(|rest| !rest.contains('/'))
                    && self.finished.get(other).is_none_or(|done| done.result.is_ok())
            })
    }
}

/// Whether `outer` is `path` or stands around it.
fn is_around(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
