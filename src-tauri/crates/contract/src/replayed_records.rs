//! `set_record`: a log of a replay takes over records that other requests had written.

use std::sync::Arc;

use engine::log::Record;
use engine::state::State;
use serde_json::json;

use crate::Subject;
use crate::writing::*;

/// The record is at the version that was set, and is committed from there.
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
    // It has no event: the request's own are all there is.
    assert_eq!(seqs(log, "r"), (1..=request.last).collect::<Vec<_>>());
}
