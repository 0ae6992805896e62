//! Blocks that ran only because another block had failed: later branches of a `stepAny` or a `race`, and handlers of a
//! rescue. A resume ran that other block again. If they did not begin again, it succeeded, or it waits. A replay runs
//! only the newest round, and does not reach them.
//!
//! Must not decide which blocks a resume runs again.

use std::collections::{HashMap, HashSet};

use crate::model::path::{operation, with_ancestors};

/// Collects these blocks while the log is read.
#[derive(Default)]
pub(super) struct PassedOver {
    /// For each operation whose newest round a resume began: the last branch that began in that round.
    branches: HashMap<String, usize>,
    /// The blocks whose handler failed.
    failed_rescues: HashSet<String>,
    /// Those whose handler failed, that a resume ran again, and whose handler has not begun since.
    rescues: HashSet<String>,
}

impl PassedOver {
    /// Notes that the block at a path begins, or goes on.
    pub(super) fn begin(&mut self, path: &str) {
        if !self.branches.is_empty()
            && let Some((operation, at)) = branch(path)
            && let Some(last) = self.branches.get_mut(operation)
        {
            *last = at.max(*last);
        }
        if let Some(failed) = rescued(path) {
            self.failed_rescues.remove(failed);
            self.rescues.remove(failed);
        }
    }

    /// Notes that the block at a path failed.
    pub(super) fn fail(&mut self, path: &str) {
        self.failed_rescues.extend(rescued(path).map(str::to_owned));
    }

    /// Notes that the block at a path runs again because it had failed: blocks that ran after it have not begun again.
    pub(super) fn run_again(&mut self, path: &str) {
        if let Some((operation, at)) = branch(path) {
            self.branches.insert(operation.to_owned(), at);
        }
        self.rescues.extend(self.failed_rescues.take(path));
    }

    /// Whether the block at a path, or a block around it, was not reached by the newest round.
    pub(super) fn has(&self, path: &str) -> bool {
        let is_after = |(operation, at): (&str, usize)| self.branches.get(operation).is_some_and(|last| at > *last);
        let is_over = |path: &str| {
            branch(path).is_some_and(is_after) || rescued(path).is_some_and(|failed| self.rescues.contains(failed))
        };
        let is_empty = self.branches.is_empty() && self.rescues.is_empty();
        !is_empty && with_ancestors(path).any(is_over)
    }
}

/// Returns the operation and the number of a branch of a `stepAny` or a `race`; `None` for other paths.
fn branch(path: &str) -> Option<(&str, usize)> {
    let operation = operation(path);
    let at = path.strip_prefix(operation)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    let segment = operation.rsplit('/').next()?;
    let name = segment.split('~').next()?;
    matches!(name, "stepAny" | "race").then_some((operation, at))
}

/// Returns the path of the block whose rescue a path is a handler of.
fn rescued(path: &str) -> Option<&str> {
    path.rsplit_once('/').filter(|(_, last)| last.starts_with("rescue:")).map(|(failed, _)| failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_after_the_one_that_ran_again_are_passed_over_until_they_begin() {
        let mut passed = PassedOver::default();
        passed.begin("root/stepAny[0]");
        passed.begin("root/stepAny[1]");
        assert!(!passed.has("root/stepAny[1]"));
        passed.run_again("root/stepAny[0]");
        assert!(passed.has("root/stepAny[1]"));
        assert!(passed.has("root/stepAny[2]/step:a"));
        assert!(!passed.has("root/stepAny[0]/step:a"));
        assert!(!passed.has("root/stepAny~2[1]"));
        passed.begin("root/stepAny[1]");
        assert!(!passed.has("root/stepAny[1]/step:a"));
        assert!(passed.has("root/stepAny[2]"));
        // The next round begins with the first branch again.
        passed.run_again("root/stepAny[0]");
        assert!(passed.has("root/stepAny[1]"));
    }

    #[test]
    fn a_handler_that_failed_is_passed_over_until_it_begins() {
        let mut passed = PassedOver::default();
        passed.begin("root/rescue:h");
        passed.run_again("root");
        assert!(!passed.has("root/rescue:h"), "it has answered, and a resume takes its answer from the log");
        passed.fail("root/rescue:h");
        passed.run_again("root");
        assert!(passed.has("root/rescue:h/step:a"));
        assert!(!passed.has("root/step:a"));
        passed.begin("root/rescue:h");
        assert!(!passed.has("root/rescue:h"));
    }

    #[test]
    fn only_branches_of_step_any_and_race_are_passed_over() {
        assert_eq!(branch("root/race~2[10]"), Some(("root/race~2", 10)));
        assert_eq!(branch("root/loop[1]/stepAny[0]"), Some(("root/loop[1]/stepAny", 0)));
        assert_eq!(branch("root/stepAll[1]"), None);
        assert_eq!(branch("root/forEach:race[1]"), None);
        assert_eq!(branch("root/step:stepAny"), None);
    }
}
