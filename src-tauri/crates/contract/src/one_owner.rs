//! Promise 7: only the owner of a request appends to it, under its lease, until a take-over raises the epoch.

use engine::event::{EventKind, RequestStatus};
use engine::log::{AppendError, AppendMode, Lease};
use serde_json::json;

use crate::Subject;
use crate::writing::*;

const NEXT: &str = "database.next-process";

/// An append must name the owner and the epoch of the request.
pub fn appends_under_another_lease_are_refused<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let before = Before::of(log, &["r"], &[record("s")]);
    for (owner, epoch) in [(NEXT, 1), (OWNER, 2), (OWNER, 0), (NEXT, 2), (NEXT, 7), ("", 1)] {
        let lease = Lease { owner: owner.into(), epoch };
        let events = request.next(write(request.last, &record("s"), 0, &[increment()]));
        let answer = wait(log.append("r", &lease, events, AppendMode::Committed));
        assert!(is_fenced(&answer, "r"), "{lease:?}: {answer:?}");
        before.assert_unchanged("another lease");
    }
    request.increment(&record("s"), 0).unwrap();
}

/// The first event of a take-over names the new lease, with the next epoch.
pub fn a_take_over_begins_with_its_event<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    request.set_status(RequestStatus::Suspended).unwrap();
    let before = Before::of(log, &["r"], &[]);
    let lease = |epoch| Lease { owner: NEXT.into(), epoch };
    for (lease, kinds) in [
        (lease(2), vec![note("no event of a new owner")]),
        (lease(2), vec![note("before it"), adopted(NEXT, 2)]),
        (lease(2), vec![adopted("database.somebody-else", 2)]),
        (lease(2), vec![adopted(NEXT, 3)]),
        (lease(3), vec![adopted(NEXT, 3)]),
        (lease(1), vec![adopted(NEXT, 1)]),
    ] {
        let answer = wait(log.append("r", &lease, request.next(kinds), AppendMode::Committed));
        assert!(is_fenced(&answer, "r"), "{lease:?}: {answer:?}");
        before.assert_unchanged("an invalid take-over");
    }
    let events = request.next(vec![adopted(NEXT, 2), finished(RequestStatus::Aborted)]);
    wait(log.append("r", &lease(2), events, AppendMode::Committed)).unwrap();
}

/// All appends of the previous owner are refused, whatever number their events have, without effect on the new owner.
pub fn the_owner_before_writes_nothing_more<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut late = Request::begin(log, "r");
    late.increment(&scope, 0).unwrap();
    late.set_status(RequestStatus::Suspended).unwrap();
    let mut now = late.through(log);
    now.resume(NEXT).unwrap();
    now.increment(&scope, 1).unwrap();
    for seq in [late.last, now.last] {
        for mode in MODES {
            late.last = seq;
            drop(late.send(vec![note("too late")], mode));
            late.last = seq;
            let answer = late.increment(&scope, 2);
            assert!(is_fenced(&answer, "r"), "{mode:?} at {seq}: {answer:?}");
        }
    }
    now.append(vec![note("goes on")]).unwrap();
    now.finish();
    assert_eq!(seqs(log, "r"), (1..=now.last).collect::<Vec<_>>());
    assert!(!log.own_events("r").unwrap().iter().any(|event| event.kind == note("too late")));
    assert_eq!((version(log, &scope), state(log, &scope)), (2, json!({ "n": 2 })));
}

/// If several owners take over a suspended request, one of them succeeds.
pub fn a_request_that_waits_is_taken_over_by_one<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    request.set_status(RequestStatus::Suspended).unwrap();
    let answers: Vec<_> = (0..4)
        .map(|n| {
            let lease = request.lease.next(format!("database.process-{n}"));
            let taken = request.next(vec![adopted(&lease.owner, lease.epoch), finished(RequestStatus::Aborted)]);
            wait(log.append("r", &lease, taken, AppendMode::Committed))
        })
        .collect();
    assert!(answers[0].is_ok(), "{answers:?}");
    assert!(answers[1..].iter().all(|answer| is_fenced(answer, "r")), "{answers:?}");
}

/// Owners can take over one after another, also an earlier owner again.
pub fn owners_follow_each_other<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    for (turn, owner) in [NEXT, OWNER, OWNER, NEXT].into_iter().enumerate() {
        request.set_status(RequestStatus::Suspended).unwrap();
        let before = request.lease.clone();
        request.resume(owner).unwrap();
        assert_eq!(request.lease, Lease { owner: owner.into(), epoch: turn as u64 + 2 });
        request.append(vec![note("goes on")]).unwrap();
        let late = request.next(vec![note("too late")]);
        assert!(is_fenced(&wait(log.append("r", &before, late, AppendMode::Committed)), "r"));
    }
    assert_eq!(Lease::of(&log.own_events("r").unwrap()), Some(request.lease.clone()));
}

/// A request that has ended can be taken over, too.
pub fn a_request_that_ended_is_taken_over<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    request.append(vec![finished(RequestStatus::Failed)]).unwrap();
    let mut retried = request.through(log);
    retried.resume(NEXT).unwrap();
    let late: Result<(), AppendError> = request.append(vec![note("too late")]);
    assert!(is_fenced(&late, "r"), "{late:?}");
    retried.append(vec![EventKind::RequestStatus { status: RequestStatus::Suspended }]).unwrap();
}
