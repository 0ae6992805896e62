//! Which failures a resume of a failed request takes from the log, and which blocks it runs again.
//!
//! A failure that was caught is part of how the request went (ARCHITECTURE §5.3): it stays. What made the
//! request fail, and what failed beside it unheard, runs again. Who caught a failure is recorded with it
//! (SEMANTICS §5.4). Must not look at code.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::{Finished, ReplayCache};
use crate::model::error::FlowError;
use crate::model::event::CaughtBy;
use crate::model::identity::InstanceId;
use crate::model::path::is_at_or_inside;
use crate::model::path::operation;

impl ReplayCache {
    /// Takes the end of a request that failed: what must be tried again is forgotten.
    pub(super) fn forget_failures(&mut self, terminal: &FlowError) {
        self.questions.forget_unanswered();
        // What is around comes before what is within.
        let failed: BTreeSet<Arc<str>> =
            self.finished.iter().filter(|(_, done)| done.result.is_err()).map(|(path, _)| path.clone()).collect();
        let in_vain = self.in_vain(&failed);
        let mut forgotten: HashSet<Arc<str>> = HashSet::new();
        for path in &failed {
            let Some(done) = self.finished.get(path) else { continue };
            let is_terminal = is_at_or_inside(terminal.path.as_deref().unwrap_or_default(), path);
            let is_caught = match done.caught {
                None => false,
                Some(CaughtBy::StepAny | CaughtBy::Race) => !in_vain.contains(operation(path)),
                Some(_) => true,
            };
            // What went on from it to a block that runs again was not caught before that.
            let went_on = self.parents.get(path).filter(|around| forgotten.contains(*around)).is_some_and(|around| {
                self.finished
                    .get(around)
                    .is_some_and(|around| origin(around).is_some_and(|at| Some(at) == origin(done)))
            });
            if !self.handed_on.contains_key(path) && (is_terminal || !is_caught || went_on) {
                forgotten.insert(path.clone());
            }
        }
        for path in forgotten {
            self.finished.remove(&path);
            self.shown_failures.remove(&path);
            self.questions.forget_refusal(&path);
            // The last answer of a model is what its generator failed with.
            if let Some(calls) = self.calls.get_mut(&path) {
                calls.pop();
            }
            self.forget_last_answer(&path);
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

    /// The operations all of whose blocks failed, though one had to succeed: nobody of them caught the last.
    fn in_vain(&self, failed: &BTreeSet<Arc<str>>) -> HashSet<String> {
        let is_choice = |path: &Arc<str>| {
            let caught = self.finished.get(path).and_then(|done| done.caught);
            matches!(caught, Some(CaughtBy::StepAny | CaughtBy::Race))
        };
        let choices: HashSet<&str> = failed.iter().filter(|path| is_choice(path)).map(|path| operation(path)).collect();
        let failed_for_good = |path: &Arc<str>| match self.handed_on.get(path) {
            Some(rescue) => self.finished.get(rescue).is_some_and(|done| done.result.is_err()),
            None => true,
        };
        let last = failed.iter().filter(|path| !is_choice(path) && failed_for_good(path)).map(|path| operation(path));
        last.filter(|operation| choices.contains(operation)).map(str::to_owned).collect()
    }

    /// Keeps which block is around another. A block, not a chain, that has failed runs nothing any more but
    /// its own rescue.
    pub(super) fn follow_parent(&mut self, path: &Arc<str>, parent: Option<&Arc<str>>) {
        self.handed_on.remove(path);
        let Some(parent) = parent else { return };
        let Some(InstanceId { path: around, .. }) = InstanceId::parse(parent) else { return };
        self.parents.insert(path.clone(), around.into());
        if self.failed.contains(parent) {
            self.handed_on.insert(around.into(), path.clone());
        }
    }
}

/// Where a failure comes from.
fn origin(done: &Finished) -> Option<&str> {
    done.result.as_ref().err()?.path.as_deref()
}
