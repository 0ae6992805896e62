//! Promises 6, 7 and 9 for dead owners: no request waits for them, and their requests can be taken over.

use engine::concurrency::Policy;
use engine::event::RequestStatus;

use crate::KnowsOwners;
use crate::writing::*;

const NEXT: &str = "database.next-process";

fn owned(owner: &'static str, start: Start) -> Start {
    Start { owner, ..start }
}

/// A request that runs, or waits for its key, belongs to its owner until the owner has died.
pub fn only_the_dead_are_taken_over<S: KnowsOwners>() {
    let subject = S::create();
    let log = subject.log();
    let running = Request::begin(log, "running");
    let queued = Request::start(log, "queued", Start::queued("key")).unwrap();
    for mut request in [running, queued] {
        let before = Before::of(log, &[&request.id], &[]);
        let answer = request.resume(NEXT);
        assert!(is_fenced(&answer, &request.id), "{answer:?}");
        before.assert_unchanged("a living owner");
    }
    subject.bury(OWNER);
    for id in ["running", "queued"] {
        let mut request = Request::unstarted(log, id, OWNER);
        request.last = seqs(log, id).len() as u64;
        request.resume(NEXT).unwrap();
        // The first owner cannot take it back, because the next owner lives.
        let mut back = request.through(log);
        let answer = back.resume(OWNER);
        assert!(is_fenced(&answer, id), "{answer:?}");
        request.finish();
    }
}

/// A key is free when the request that holds it, or waits for it, has no living owner.
pub fn a_dead_request_holds_no_key<S: KnowsOwners>() {
    let subject = S::create();
    let log = subject.log();
    Request::start(log, "holder", owned("database.first", Start::with_key(Policy::Queue, "key"))).unwrap();
    Request::start(log, "waits", owned("database.second", Start::queued("key"))).unwrap();
    let mut last = Request::start(log, "last", Start::queued("key")).unwrap();
    subject.bury("database.first");
    assert!(log.may_leave_queue("waits").unwrap() && !log.may_leave_queue("last").unwrap());
    assert_eq!(holder(last.set_status(RequestStatus::InProgress)).as_deref(), Some("waits"));
    subject.bury("database.second");
    assert!(log.may_leave_queue("last").unwrap());
    last.set_status(RequestStatus::InProgress).unwrap();
    // A take-over of the dead request needs the key.
    let mut taken = Request::unstarted(log, "holder", "database.first");
    taken.last = 1;
    assert_eq!(holder(taken.resume(NEXT)).as_deref(), Some("last"));
}

/// The ticket of a request without a living owner blocks no writer.
pub fn a_dead_writer_is_skipped<S: KnowsOwners>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    Request::start(log, "dead", owned("database.first", Start::default())).unwrap();
    let mut living = Request::begin(log, "living");
    for id in ["dead", "living"] {
        wait(log.take_ticket(id, std::slice::from_ref(&scope), BEGAN + 100)).unwrap();
    }
    assert!(!log.is_first("living", BEGAN + 100).unwrap());
    subject.bury("database.first");
    assert!(log.is_first("living", BEGAN + 100).unwrap());
    living.increment(&scope, 0).unwrap();
}
