//! Promise 6: requests with one key run one at a time, in the order in which they were accepted (SEMANTICS §1.6).

use std::sync::Barrier;

use engine::concurrency::Policy;
use engine::event::RequestStatus;
use engine::log::AppendError;

use crate::Subject;
use crate::writing::*;

/// How many threads ask for one key at the same time.
const THREADS: usize = 6;

/// A request that is refused because its key is held leaves no rows, and its id stays free.
pub fn a_key_is_held_by_one_request_at_a_time<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let reject = || Start::with_key(Policy::Reject, "key");
    let mut holder_of_key = Request::start(log, "holder", reject()).unwrap();
    let before = Before::of(log, &["holder", "late"], &[]);
    let refused = Request::start(log, "late", Start { session: "another", ..reject() });
    assert_eq!(holder(refused).as_deref(), Some("holder"));
    before.assert_unchanged("a key that is held");
    // Its session was not created either, so it has no user.
    let other_user = Start { session: "another", user: "grace", ..Start::default() };
    Request::start(log, "of another user", other_user).unwrap();
    holder_of_key.finish();
    Request::start(log, "late", reject()).unwrap();
}

/// Requests with other keys, and those without one, need not wait.
pub fn other_keys_are_free<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    Request::start(log, "a", Start::with_key(Policy::Reject, "key")).unwrap();
    for (id, key) in [("b", "Key"), ("c", "key "), ("d", "")] {
        Request::start(log, id, Start::with_key(Policy::Reject, key)).unwrap();
    }
    Request::begin(log, "without");
}

/// A request may wait for its key in the queue. It is put in progress when the holder has ended.
pub fn a_queued_request_starts_when_the_key_is_free<S: Subject>() {
    for end in [RequestStatus::Completed, RequestStatus::Failed, RequestStatus::Aborted] {
        let subject = S::create();
        let log = subject.log();
        let mut first = Request::start(log, "first", Start::queued("key")).unwrap();
        assert!(log.may_leave_queue("first").unwrap());
        first.set_status(RequestStatus::InProgress).unwrap();
        let mut waiting = Request::start(log, "waiting", Start::queued("key")).unwrap();
        assert!(!log.may_leave_queue("waiting").unwrap());
        let before = Before::of(log, &["first", "waiting"], &[]);
        let claim = waiting.set_status(RequestStatus::InProgress);
        assert_eq!(holder(claim).as_deref(), Some("first"));
        before.assert_unchanged("a key that is held");
        first.append(vec![note("the last step"), finished(end)]).unwrap();
        assert!(log.may_leave_queue("waiting").unwrap());
        waiting.set_status(RequestStatus::InProgress).unwrap();
        assert!(log.may_leave_queue("waiting").unwrap(), "a request does not block itself");
        waiting.finish();
    }
}

/// The earliest waiting request comes next, also after the holder has ended.
pub fn requests_start_in_the_order_of_acceptance<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut running = Request::start(log, "running", Start::with_key(Policy::Queue, "key")).unwrap();
    let [mut second, mut third] = ["second", "third"].map(|id| Request::start(log, id, Start::queued("key")).unwrap());
    running.finish();
    assert!(log.may_leave_queue("second").unwrap() && !log.may_leave_queue("third").unwrap());
    assert_eq!(holder(third.set_status(RequestStatus::InProgress)).as_deref(), Some("second"));
    let late = Request::start(log, "late", Start::with_key(Policy::Reject, "key"));
    assert_eq!(holder(late).as_deref(), Some("second"));
    second.set_status(RequestStatus::InProgress).unwrap();
    assert_eq!(holder(third.set_status(RequestStatus::InProgress)).as_deref(), Some("second"));
    second.finish();
    third.set_status(RequestStatus::InProgress).unwrap();
}

/// A request that is aborted while it waits no longer blocks later requests.
pub fn leaving_the_queue_lets_others_start<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut waiting = Request::start(log, "waiting", Start::queued("key")).unwrap();
    let mut next = Request::start(log, "next", Start::queued("key")).unwrap();
    assert!(!log.may_leave_queue("next").unwrap());
    waiting.append(vec![finished(RequestStatus::Aborted)]).unwrap();
    assert!(log.may_leave_queue("next").unwrap());
    next.set_status(RequestStatus::InProgress).unwrap();
}

/// A request with policy `hold` starts while others run, and other requests with its key are refused meanwhile.
pub fn a_request_that_holds_starts_at_once<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut running = Request::start(log, "running", Start::with_key(Policy::Reject, "key")).unwrap();
    let mut held = Request::start(log, "hold", Start::with_key(Policy::Hold, "key")).unwrap();
    running.finish();
    let mut waiting = Request::start(log, "waiting", Start::queued("key")).unwrap();
    assert_eq!(holder(waiting.set_status(RequestStatus::InProgress)).as_deref(), Some("hold"));
    // It need not wait when it resumes, either.
    held.set_status(RequestStatus::Suspended).unwrap();
    waiting.set_status(RequestStatus::InProgress).unwrap();
    held.resume(OWNER).unwrap();
    held.finish();
}

/// A suspended request holds no key, and needs its key again to resume.
pub fn a_suspended_request_gives_its_key_back<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut suspended = Request::start(log, "suspended", Start::with_key(Policy::Reject, "key")).unwrap();
    suspended.set_status(RequestStatus::Suspended).unwrap();
    let mut other = Request::start(log, "other", Start::with_key(Policy::Reject, "key")).unwrap();
    let before = Before::of(log, &["suspended", "other"], &[]);
    assert_eq!(holder(suspended.resume("database.other-process")).as_deref(), Some("other"));
    before.assert_unchanged("a key that is held");
    other.finish();
    suspended.resume("database.other-process").unwrap();
    assert_eq!(
        holder(Request::start(log, "late", Start::with_key(Policy::Queue, "key"))).as_deref(),
        Some("suspended")
    );
}

/// Of several requests for a free key at the same time, only one gets it.
pub fn a_race_for_a_key_has_one_winner<S: Subject>() {
    let subject = S::create();
    let barrier = Barrier::new(THREADS);
    let won: usize = std::thread::scope(|threads| {
        let ask = |n: usize| {
            let (log, barrier) = (subject.log(), &barrier);
            move || {
                barrier.wait();
                match Request::start(log, &format!("r{n}"), Start::with_key(Policy::Reject, "key")) {
                    Ok(_) => 1,
                    Err(AppendError::Busy { .. }) => 0,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let running: Vec<_> = (0..THREADS).map(|n| threads.spawn(ask(n))).collect();
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}
