//! Which failures a resume of a failed request takes from the log, and which blocks it runs again.
//!
//! A failure that was caught belongs to the request's course, so its recorded error is used (ARCHITECTURE §5.3). The
//! block whose failure ended the request runs again, and so does any other with an uncaught failure. Who caught a
//! failure is recorded with it (SEMANTICS §5.4). Must not read today's flow.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{RecordedBlock, ReplayCache};
use crate::model::error::FlowError;
use crate::model::event::CaughtBy;
use crate::model::identity::InstanceId;
use crate::model::path::is_at_or_inside;
use crate::model::path::operation;

/// The instance and the path of the parent that a block had last: the next block often has the same.
pub(super) type LastParent = Option<(Arc<str>, Arc<str>)>;

/// The newest handler that ran, by the path of the block whose rescue it is of.
#[derive(Default)]
pub(super) struct Rescues {
    /// Of blocks that are no sequencers, while it is the newest attempt's.
    of_failed: FxHashMap<Arc<str>, Arc<str>>,
    /// Of every block, and whichever attempt.
    of_any: FxHashMap<Arc<str>, Arc<str>>,
}

impl ReplayCache {
    /// Removes the results that a resume of a failed request must not use. `terminal` is the error it ended with.
    pub(super) fn forget_failures(&mut self, terminal: &FlowError) {
        self.suspensions.forget_unanswered();
        // Sorted, so that a block comes before the blocks inside it.
        let failed: BTreeSet<Arc<str>> =
            self.finished.iter().filter(|(_, done)| done.result.is_err()).map(|(path, _)| path.clone()).collect();
        let exhausted_choices = self.exhausted_choices(&failed);
        let open_choices = self.choices_with_success(&failed);
        let mut forgotten: HashSet<Arc<str>> = HashSet::new();
        for path in &failed {
            let Some(done) = self.finished.get(path) else { continue };
            let is_terminal = is_at_or_inside(terminal.path.as_deref().unwrap_or_default(), path);
            let is_caught = match done.caught {
                None => false,
                Some(by) => {
                    let of = operation(path);
                    let is_exhausted = exhausted_choices.contains(of);
                    let around = || self.parents.get(path).filter(|around| forgotten.contains(*around));
                    let gave_up = || around().is_some_and(|around| is_exhausted || self.has_given_up(around));
                    let all_failed = is_of_choice(of) && !open_choices.contains(of) && gave_up();
                    let is_of_exhausted = is_exhausted && matches!(by, CaughtBy::StepAny | CaughtBy::Race);
                    !(all_failed || is_of_exhausted)
                }
            };
            // The same error is that of an enclosing block which runs again, so this block must run again, too.
            let is_of_retried_parent =
                self.parents.get(path).filter(|around| forgotten.contains(*around)).is_some_and(|around| {
                    self.finished
                        .get(around)
                        .is_some_and(|around| origin(around).is_some_and(|at| Some(at) == origin(done)))
                });
            if !self.rescues.of_failed.contains_key(path) && (is_terminal || !is_caught || is_of_retried_parent) {
                forgotten.insert(path.clone());
            }
        }
        for path in forgotten {
            self.finished.remove(&path);
            self.reported_failures.remove(&path);
            self.suspensions.forget_refusals(&path);
            // The generator failed with the last reply of its model, so the model is called again.
            if let Some(calls) = self.calls.get_mut(&path) {
                calls.pop();
            }
            self.forget_last_answer(&path);
        }
    }

    /// Removes the last result of the author's own model, so that its function is called again.
    fn forget_last_answer(&mut self, path: &str) {
        let Some(functions) = self.functions.get_mut(path) else { return };
        let numbers = functions.keys().filter_map(|name| name.strip_prefix("generate#")?.parse::<u32>().ok());
        if let Some(last) = numbers.max() {
            functions.remove(&format!("generate#{last}"));
        }
    }

    /// Returns the `stepAny` and `race` operations all of whose branches failed: no branch caught the last failure.
    fn exhausted_choices(&self, failed: &BTreeSet<Arc<str>>) -> HashSet<String> {
        let is_choice = |path: &Arc<str>| {
            let caught = self.finished.get(path).and_then(|done| done.caught);
            matches!(caught, Some(CaughtBy::StepAny | CaughtBy::Race))
        };
        let choices: HashSet<&str> = failed.iter().filter(|path| is_choice(path)).map(|path| operation(path)).collect();
        let failed_for_good = |path: &Arc<str>| match self.rescues.of_failed.get(path) {
            Some(rescue) => self.finished.get(rescue).is_some_and(|done| done.result.is_err()),
            None => true,
        };
        let last = failed.iter().filter(|path| !is_choice(path) && failed_for_good(path)).map(|path| operation(path));
        last.filter(|operation| choices.contains(operation)).map(str::to_owned).collect()
    }

    /// Returns the `stepAny` and `race` operations of which a branch succeeded, itself or by its rescue.
    fn choices_with_success(&self, failed: &BTreeSet<Arc<str>>) -> HashSet<String> {
        let has_succeeded = |path: &Arc<str>| self.finished.get(path).is_some_and(|done| done.result.is_ok());
        let succeeded = self.finished.keys().filter(|path| has_succeeded(path));
        let rescued = failed.iter().filter(|path| self.rescues.of_failed.get(*path).is_some_and(has_succeeded));
        succeeded.chain(rescued).map(|path| operation(path)).filter(|of| is_of_choice(of)).map(str::to_owned).collect()
    }

    /// Returns whether a block failed because all branches of a `stepAny` or a `race` of its own failed. An operation
    /// around it may have caught the failure of the last branch.
    fn has_given_up(&self, path: &str) -> bool {
        let error = self.finished.get(path).and_then(|done| done.result.as_ref().err());
        error.is_some_and(|error| error.name == "AggregateError" && error.path.as_deref() == Some(path))
    }

    /// Notes that an attempt which had failed, or was interrupted, goes on: it runs no rescue of its own yet.
    pub(super) fn goes_on(&mut self, path: &Arc<str>, attempt: u32) {
        self.rescues.of_failed.remove(path);
        self.failed.remove(&*InstanceId { path, attempt }.to_string());
    }

    /// Returns whether the recorded output of a chain is that of its rescue. What a fork has edited is not.
    pub(crate) fn is_of_rescue(&self, path: &str, done: &RecordedBlock) -> bool {
        let has_answered = |rescue: &Arc<str>| self.ended(rescue).is_some_and(|rescue| rescue.result.is_ok());
        done.result.is_ok() && done.seq == done.ended && self.rescues.of_any.get(path).is_some_and(has_answered)
    }

    /// Notes the parent of a block. A parent that has failed and is no sequencer can only be running its own rescue.
    pub(super) fn follow_parent(&mut self, path: &Arc<str>, parent: Option<&Arc<str>>, last: &mut LastParent) {
        self.rescues.of_failed.remove(path);
        let Some(parent) = parent else { return };
        let around = match last {
            Some((instance, around)) if instance == parent => around.clone(),
            _ => {
                let Some(InstanceId { path: around, .. }) = InstanceId::parse(parent) else { return };
                let around: Arc<str> = around.into();
                *last = Some((parent.clone(), around.clone()));
                around
            }
        };
        self.parents.insert(path.clone(), around.clone());
        if path.strip_prefix(&*around).is_some_and(|rest| rest.starts_with("/rescue:")) {
            self.rescues.of_any.insert(around.clone(), path.clone());
        }
        if self.failed.contains(parent) {
            self.rescues.of_failed.insert(around, path.clone());
        }
    }
}

/// Returns whether an operation is a `stepAny` or a `race`.
fn is_of_choice(operation: &str) -> bool {
    let segment = operation.rsplit('/').next().unwrap_or_default();
    matches!(segment.split('~').next(), Some("stepAny" | "race"))
}

/// Returns the path of the block that failed first.
fn origin(done: &RecordedBlock) -> Option<&str> {
    done.result.as_ref().err()?.path.as_deref()
}
