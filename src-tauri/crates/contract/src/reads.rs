//! Reads of a request's events and of records.

use engine::event::Event;
use engine::log::AppendMode;
use engine::scope::ScopeKey;
use serde_json::json;

use crate::Subject;
use crate::writing::*;

/// Every part of an event and every value in it is stored exactly, also long or repeated values.
pub fn events_come_back_as_they_were_appended<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let long = "a long text ".repeat(2_000);
    let deep = (0..200).fold(json!([]), |inner, _| json!({ "of": [inner] }));
    let values = [
        json!({ "z": 1, "a": 2, "": { "B": null, "A": [true, false, []] } }),
        json!([0, -0.0, 1.5, -1, u64::MAX, i64::MIN, 1e300, 1e-300, 0.1, 9_007_199_254_740_993_u64]),
        json!("\u{0}\u{1f}\"\\/\u{2028}\u{fffd}😀e\u{301}"),
        json!({ "$serde_json::private::Number": "1" }),
        json!([long, long, { "again": long }]),
        json!((0..3_000).collect::<Vec<i32>>()),
        deep,
    ];
    let mut events: Vec<Event> = Vec::new();
    for (value, seq) in values.into_iter().zip(2..) {
        events.push(event_of(seq, "root/näme#0[3]", seq as u32, entry(value)));
    }
    let mut far = event(events.len() as u64 + 2, note(""));
    far.at = -1;
    events.push(far);
    request.append_events(events.clone()).unwrap();
    assert_eq!(log.own_events("r").unwrap()[1..], events);
}

/// A read waits for queued events and returns them.
pub fn own_events_include_queued_events<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    for mode in [AppendMode::Evidence, AppendMode::Boundary, AppendMode::Committed].repeat(5) {
        drop(request.send(vec![note("one more")], mode));
        assert_eq!(seqs(log, "r"), (1..=request.last).collect::<Vec<_>>(), "{mode:?}");
    }
}

/// An unknown request has no events, an unknown session no requests, and a record that was never written is empty.
pub fn unknown_requests_and_records_are_empty<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    Request::begin(log, "r");
    assert_eq!(log.own_events("unknown").unwrap(), []);
    assert!(log.session_events("unknown", "r", 10).unwrap().is_empty());
    assert_eq!(journal(log, "unknown"), [] as [serde_json::Value; 0]);
    assert_eq!((version(log, &record("unknown")), state(log, &record("unknown"))), (0, json!({})));
    assert!(log.may_leave_queue("unknown").unwrap());
    assert!(log.is_first("unknown", BEGAN).unwrap());
    wait(log.take_ticket("unknown", &[record("s")], BEGAN)).unwrap();
    log.leave_ticket("unknown");
    assert_eq!(log.own_events("unknown").unwrap(), [], "reading creates no request");
    Request::begin(log, "unknown");
}

/// `records` returns one record for each given scope, in the same order, also for repeated scopes.
pub fn records_come_in_the_order_of_the_scopes<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    for (id, count) in [("one", 1), ("two", 2), ("three", 3)] {
        let operations: Vec<_> = (0..count).map(|_| increment()).collect();
        request.write(&record(id), 0, &operations).unwrap();
    }
    let versions = |ids: &[&str]| -> Vec<u64> {
        let scopes: Vec<ScopeKey> = ids.iter().map(|id| record(id)).collect();
        log.records(&scopes).unwrap().iter().map(|record| record.version).collect()
    };
    assert_eq!(versions(&["three", "unknown", "one", "two", "three"]), [3, 0, 1, 2, 3]);
    assert_eq!(versions(&[]), [] as [u64; 0]);
    request.increment(&record("one"), 1).unwrap();
    assert_eq!(versions(&["one", "one"]), [2, 2], "no record is older than the call");
}
