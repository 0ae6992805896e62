//! Which writes to shared memory count: the rule of abandoned attempts.
//!
//! Request, sequencer and block state is in force as it is written. When the attempt that wrote it
//! turns out to be without effect, its writes stop counting from there on; an instant before that
//! still shows them, because the request saw them then. The rule is [`Attempts::follow`], a pure
//! function of the events; nothing else may decide it.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{EventKind, Outcome};

/// One execution of one path.
pub(crate) type Attempt = (Arc<str>, u32);

/// What an event means for the attempts of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A block began.
    Started,
    /// A block ended.
    Ended(Outcome),
    /// A process took the request up again.
    Resumed,
    /// Nothing.
    Other,
}

impl Turn {
    pub(crate) fn of(kind: &EventKind) -> Turn {
        match kind {
            EventKind::BlockStarted { .. } => Turn::Started,
            EventKind::BlockFinished { outcome, .. } => Turn::Ended(*outcome),
            EventKind::RequestResumed { .. } => Turn::Resumed,
            _ => Turn::Other,
        }
    }
}

/// Where an attempt first wrote to a scope: the scope, and the global id of the event.
pub(crate) type FirstWrite = (i64, i64);

/// An attempt that is without effect, and what it wrote.
#[derive(Debug, PartialEq)]
pub(crate) struct Withdrawn {
    pub(crate) attempt: Attempt,
    pub(crate) writes: Vec<FirstWrite>,
}

/// The attempts of one request that may still come to nothing.
#[derive(Debug, Default)]
pub(crate) struct Attempts(HashMap<Attempt, Vec<FirstWrite>>);

impl Attempts {
    /// Takes the next event. Answers the attempts that it leaves without effect:
    ///
    /// - one that ends `abandoned`;
    /// - at a resume, every one that has not ended, and every one that ended `suspended`, for it
    ///   runs again from its top.
    pub(crate) fn follow(&mut self, path: Option<&Arc<str>>, attempt: u32, turn: Turn) -> Vec<Withdrawn> {
        let key = path.map(|path| (path.clone(), attempt));
        match (turn, key) {
            (Turn::Resumed, _) => self.0.drain().map(|(attempt, writes)| Withdrawn { attempt, writes }).collect(),
            (Turn::Started, Some(key)) => {
                self.0.entry(key).or_default();
                Vec::new()
            }
            (Turn::Ended(Outcome::Abandoned), Some(key)) => {
                let writes = self.0.remove(&key).unwrap_or_default();
                vec![Withdrawn { attempt: key, writes }]
            }
            (Turn::Ended(Outcome::Completed | Outcome::Failed), Some(key)) => {
                self.0.remove(&key);
                Vec::new()
            }
            (Turn::Ended(Outcome::Suspended) | Turn::Other, _) | (_, None) => Vec::new(),
        }
    }

    /// Notes that an attempt wrote to a scope, if it may still come to nothing.
    pub(crate) fn wrote(&mut self, path: Option<&Arc<str>>, attempt: u32, write: FirstWrite) {
        let Some(path) = path else { return };
        if let Some(writes) = self.0.get_mut(&(path.clone(), attempt))
            && writes.iter().all(|(scope, _)| *scope != write.0)
        {
            writes.push(write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<Arc<str>> {
        Some(name.into())
    }

    #[test]
    fn an_abandoned_attempt_is_withdrawn_with_its_first_writes() {
        let (mut attempts, block) = (Attempts::default(), path("root"));
        attempts.follow(block.as_ref(), 0, Turn::Started);
        for event in [3, 4] {
            attempts.wrote(block.as_ref(), 0, (7, event));
        }
        let withdrawn = attempts.follow(block.as_ref(), 0, Turn::Ended(Outcome::Abandoned));
        assert_eq!(withdrawn, [Withdrawn { attempt: ("root".into(), 0), writes: vec![(7, 3)] }]);
    }

    #[test]
    fn a_resume_withdraws_what_did_not_finish() {
        let mut attempts = Attempts::default();
        for (name, end) in [
            ("done", Some(Outcome::Completed)),
            ("failed", Some(Outcome::Failed)),
            ("waiting", Some(Outcome::Suspended)),
            ("cut", None),
        ] {
            let block = path(name);
            attempts.follow(block.as_ref(), 0, Turn::Started);
            if let Some(outcome) = end {
                assert!(attempts.follow(block.as_ref(), 0, Turn::Ended(outcome)).is_empty());
            }
        }
        let mut names: Vec<Arc<str>> =
            attempts.follow(None, 0, Turn::Resumed).into_iter().map(|withdrawn| withdrawn.attempt.0).collect();
        names.sort();
        assert_eq!(names, ["cut".into(), "waiting".into()] as [Arc<str>; 2]);
        assert!(attempts.follow(None, 0, Turn::Resumed).is_empty());
    }
}
