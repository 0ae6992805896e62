//! Promise 1: an append stores its events, its commits and the rows derived from them together, or nothing.

use engine::log::{AppendError, AppendMode, Lease};
use serde_json::json;

use crate::Subject;
use crate::writing::*;

/// How many events the largest append of these tests has.
const MANY: u64 = 5_000;

/// If the last event of an append is refused, none of its events, record changes or journal entries are stored.
pub fn a_refused_append_leaves_nothing<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut request = Request::begin(log, "r");
    request.increment(&scope, 0).unwrap();
    request.append(vec![entry("kept")]).unwrap();
    let before = Before::of(log, &["r"], std::slice::from_ref(&scope));
    let whole = |request: &Request<'_>| {
        let mut kinds = vec![entry("lost")];
        kinds.extend(write(request.last + 1, &scope, 1, &[increment()]));
        kinds.push(note("last"));
        request.next(kinds)
    };
    let mut gap = whole(&request);
    gap.last_mut().unwrap().seq += 1;
    assert!(matches!(request.append_events(gap), Err(AppendError::OutOfOrder { .. })));
    before.assert_unchanged("a gap");
    let other = Lease::first("database.other-process");
    let answer = wait(log.append("r", &other, whole(&request), AppendMode::Committed));
    assert!(is_fenced(&answer, "r"), "{answer:?}");
    before.assert_unchanged("another owner");
    let mut begins_again = vec![event(1, Start::default().event())];
    begins_again.push(event(2, entry("lost")));
    let answer = wait(log.append("r", &request.lease, begins_again, AppendMode::Committed));
    assert!(matches!(answer, Err(AppendError::Exists)), "{answer:?}");
    before.assert_unchanged("a used id");
    // The refused events can be appended in a valid append.
    request.append_events(whole(&request)).unwrap();
    assert_eq!(seqs(log, "r"), (1..=request.last).collect::<Vec<_>>());
    assert_eq!(version(log, &scope), 2);
}

/// An append without events succeeds and creates no request.
pub fn an_empty_append_changes_nothing<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    request.append(vec![note("one")]).unwrap();
    let before = Before::of(log, &["r", "unknown"], &[]);
    for mode in MODES {
        wait(request.send(Vec::new(), mode)).unwrap();
        wait(log.append("unknown", &request.lease, Vec::new(), mode)).unwrap();
    }
    before.assert_unchanged("an empty append");
    request.append(vec![note("two")]).unwrap();
    Request::begin(log, "unknown").finish();
}

/// An append has no size limit, neither in events nor in bytes.
pub fn a_huge_append_is_kept_whole<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut request = Request::begin(log, "r");
    let operations: Vec<_> = (0..MANY).map(|_| increment()).collect();
    let mut kinds = write(request.last, &scope, 0, &operations);
    kinds.push(note("x".repeat(3 << 20)));
    let events = request.next(kinds);
    request.append_events(events.clone()).unwrap();
    assert_eq!(log.own_events("r").unwrap()[1..], events);
    assert_eq!((version(log, &scope), state(log, &scope)), (MANY, json!({ "n": MANY })));
    request.finish();
}
