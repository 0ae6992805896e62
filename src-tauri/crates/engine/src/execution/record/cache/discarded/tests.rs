//! Which results remain after retries, and the cost of finding them.

use crate::model::error::FlowError;
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Recorded};
use crate::model::operation::Operation;
use crate::model::path::COMPARED;
use crate::model::scope::{ScopeKey, ScopeKind};

use super::super::{ReplayCache, SharedStateOwner};

#[derive(Default)]
struct Log(Vec<Event>);

impl Log {
    fn add(&mut self, path: &str, attempt: u32, kind: EventKind) {
        let seq = self.0.len() as u64 + 1;
        self.0.push(Event { seq, at: 0, path: Some(path.into()), attempt, kind });
    }

    fn begin(&mut self, path: &str, attempt: u32) {
        let (name, block, input) = ("b".into(), BlockKind::Handler, Recorded::Undefined);
        let (parent, versions, fingerprint) = (None, Vec::new(), None);
        self.add(
            path,
            attempt,
            EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed: false },
        );
    }

    fn write(&mut self, path: &str, attempt: u32) {
        let by = [("n".to_owned(), 1.into())].into_iter().collect();
        let (scope, operation) = (ScopeKey::new(ScopeKind::Request, "r"), Operation::Increment { by });
        self.add(path, attempt, EventKind::StateChanged { scope, operation, value: None, version: 0 });
    }

    fn end(&mut self, path: &str, attempt: u32, outcome: Outcome) {
        let error = (outcome != Outcome::Completed).then(|| FlowError::new("Error", "again"));
        let (output, caught, transient, memoized, commits) = (None, None, false, false, Vec::new());
        let kind = EventKind::BlockFinished {
            outcome,
            output,
            error,
            caught,
            transient,
            memoized,
            returned_error: false,
            timed_out_ms: None,
            commits,
        };
        self.add(path, attempt, kind);
    }
}

/// A list of items, each of which has a step, is retried once and then completes.
fn retried_items(count: usize) -> Vec<Event> {
    let mut log = Log::default();
    log.begin("root", 0);
    for item in 0..count {
        let (path, step) = (format!("root/forEach:b[{item}]"), format!("root/forEach:b[{item}]/step:s"));
        for attempt in 0..2 {
            log.begin(&path, attempt);
            log.begin(&step, attempt);
            log.write(&step, attempt);
            log.end(&step, attempt, Outcome::Completed);
            log.end(&path, attempt, if attempt == 0 { Outcome::Abandoned } else { Outcome::Completed });
        }
    }
    log.0
}

#[test]
fn reading_retries_does_not_compare_paths_of_other_items() {
    let compared = |count: usize| {
        let events = retried_items(count);
        let before = COMPARED.get();
        let cache = ReplayCache::read(&events, &[]);
        assert_eq!(cache.count_changes(&SharedStateOwner::Request, u64::MAX), 2 * count, "both attempts' steps ended");
        assert!((0..count).all(|item| cache.has_ended(&format!("root/forEach:b[{item}]/step:s"))));
        COMPARED.get() - before
    };
    let (once, twice) = (compared(100), compared(200));
    assert!(twice <= 2 * once, "{once} comparisons, then {twice}");
}

#[test]
fn a_retry_discards_only_results_inside_the_block() {
    let mut log = Log::default();
    log.begin("root", 0);
    for path in ["root/step:a/step:x", "root/step:a~2", "root/step:ab"] {
        log.begin(path, 0);
        log.end(path, 0, Outcome::Completed);
    }
    log.begin("root/step:a", 0);
    log.end("root/step:a", 0, Outcome::Abandoned);
    let cache = ReplayCache::read(&log.0, &[]);
    let ended = ["root/step:a/step:x", "root/step:a~2", "root/step:ab"].map(|path| cache.has_ended(path));
    assert_eq!(ended, [false, true, true]);
}
