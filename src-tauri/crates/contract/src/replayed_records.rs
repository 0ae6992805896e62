//! `set_record`: the log of a replay gets records that other requests had written.

use std::sync::Arc;

use engine::log::Record;
use engine::state::State;
use serde_json::json;

use crate::Subject;
use crate::writing::*;

/// A record has the version that was set, and commits continue from it.
pub fn a_record_that_was_set_is_committed_from_its_version<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let state_at_4: State = fields(json!({ "n": 40, "other": true })).into();
    log.set_record(scope.clone(), Record { version: 4, state: Arc::new(state_at_4) });
    assert_eq!((version(log, &scope), state(log, &scope)), (4, json!({ "n": 40, "other": true })));
    let mut request = Request::begin(log, "r");
    assert!(is_conflict(&request.increment(&scope, 0), std::slice::from_ref(&scope)));
    request.increment(&scope, 4).unwrap();
    assert_eq!((version(log, &scope), state(log, &scope)), (5, json!({ "n": 41, "other": true })));
    // Setting a record adds no event.
    assert_eq!(seqs(log, "r"), (1..=request.last).collect::<Vec<_>>());
}
