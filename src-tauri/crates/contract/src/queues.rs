//! Promise 9: writers that conflict take turns, and no writer waits forever.

use engine::event::{EventKind, RequestStatus};
use engine::log::{Log, TICKET_MS};
use engine::scope::ScopeKey;
use serde_json::json;

use crate::Subject;
use crate::writing::*;

/// A time after all events of these tests.
const NOW: i64 = BEGAN + 100;

#[track_caller]
fn take(log: &dyn Log, request: &str, ids: &[&str], at: i64) {
    let scopes: Vec<ScopeKey> = ids.iter().map(|id| record(id)).collect();
    wait(log.take_ticket(request, &scopes, at)).unwrap();
}

#[track_caller]
fn is_first(log: &dyn Log, request: &str) -> bool {
    log.is_first(request, NOW).unwrap()
}

/// While a request waits, commits by other requests are refused even with the right version, and recorded as conflicts.
pub fn the_longest_waiter_writes_first<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let [mut a, mut b, mut without] = ["a", "b", "without"].map(|id| Request::begin(log, id));
    take(log, "a", &["s"], NOW);
    take(log, "b", &["s"], NOW);
    assert!(is_first(log, "a") && !is_first(log, "b"));
    for request in [&mut b, &mut without] {
        let answer = request.increment(&scope, 0);
        assert!(is_conflict(&answer, std::slice::from_ref(&scope)), "{answer:?}");
        assert_eq!(kinds(log, &request.id), ["request_started", "state_changed", "commit_refused"]);
    }
    without.increment(&record("other"), 0).unwrap();
    a.increment(&scope, 0).unwrap();
    assert!(is_first(log, "b"));
    assert!(is_conflict(&a.increment(&scope, 1), std::slice::from_ref(&scope)));
    b.increment(&scope, 1).unwrap();
    a.increment(&scope, 2).unwrap();
    assert_eq!((version(log, &scope), state(log, &scope)), (3, json!({ "n": 3 })));
}

/// A conflict names the records that other requests wait for and those that changed, in the order of the append.
pub fn a_conflict_names_records_that_others_wait_for<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [_first, mut request] = ["first", "r"].map(|id| Request::begin(log, id));
    take(log, "first", &["b", "c"], NOW);
    let seen = ["a", "b", "c"].map(record);
    let mut kinds: Vec<EventKind> = seen.iter().map(|scope| changed(scope, increment(), 1)).collect();
    let commits = seen.iter().zip(2..).map(|(scope, seq)| commit(scope, 0, vec![seq])).collect();
    kinds.push(EventKind::Committed { commits });
    let answer = request.append(kinds);
    assert!(is_conflict(&answer, &[record("b"), record("c")]), "{answer:?}");
    assert!(seen.iter().all(|scope| version(log, scope) == 0));
}

/// A request has one ticket number for all its records, so of two requests that wait for both records, one is first
/// at both.
pub fn no_two_requests_wait_for_each_other<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [mut a, _b] = ["a", "b"].map(|id| Request::begin(log, id));
    take(log, "a", &["one"], NOW);
    take(log, "b", &["two"], NOW);
    assert!(is_first(log, "a") && is_first(log, "b"));
    take(log, "b", &["one"], NOW);
    take(log, "a", &["two"], NOW);
    assert!(is_first(log, "a") && !is_first(log, "b"));
    a.increment(&record("two"), 0).unwrap();
    assert!(is_first(log, "b"));
}

/// A record added to a ticket takes the ticket's position in its queue, ahead of requests that came later.
pub fn a_record_that_is_added_has_the_place_of_its_ticket<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [_a, mut b] = ["a", "b"].map(|id| Request::begin(log, id));
    take(log, "a", &["one"], NOW);
    take(log, "b", &["two"], NOW);
    take(log, "a", &["two"], NOW);
    assert!(is_first(log, "a") && !is_first(log, "b"));
    assert!(is_conflict(&b.increment(&record("two"), 0), &[record("two")]));
}

/// A commit uses up the request's whole ticket, whichever records it names. A refused commit leaves the ticket.
pub fn a_ticket_is_gone_with_the_next_commit<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [mut a, mut b] = ["a", "b"].map(|id| Request::begin(log, id));
    take(log, "a", &["one", "two"], NOW);
    take(log, "b", &["one", "two"], NOW);
    b.increment(&record("third"), 0).unwrap();
    take(log, "b", &["two"], NOW);
    let refused = a.increment(&record("one"), 5);
    assert!(is_conflict(&refused, &[record("one")]), "{refused:?}");
    a.append(vec![note("no commit")]).unwrap();
    assert!(is_first(log, "a") && !is_first(log, "b"));
    a.increment(&record("third"), 1).unwrap();
    assert!(!is_first(log, "a") && is_first(log, "b"));
    b.increment(&record("two"), 0).unwrap();
}

/// The queue skips requests that gave up their ticket, ended or are suspended.
pub fn requests_that_no_longer_write_are_skipped<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [_left, mut ended, mut suspended, mut last] =
        ["left", "ended", "suspended", "last"].map(|id| Request::begin(log, id));
    for id in ["left", "ended", "suspended", "last"] {
        take(log, id, &["s"], NOW);
    }
    log.leave_ticket("left");
    // Calls are handled in order, so this one returns after the ticket is removed.
    take(log, "last", &["s"], NOW);
    assert!(is_first(log, "ended") && !is_first(log, "left"));
    ended.append(vec![finished(RequestStatus::Completed)]).unwrap();
    assert!(is_first(log, "suspended") && !is_first(log, "last"));
    suspended.set_status(RequestStatus::Suspended).unwrap();
    assert!(is_first(log, "last"));
    last.increment(&record("s"), 0).unwrap();
}

/// A ticket expires after [`TICKET_MS`]: it no longer blocks other requests, and its request is not first by it.
pub fn a_ticket_expires<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [_a, mut b, mut late] = ["a", "b", "late"].map(|id| Request::begin(log, id));
    take(log, "a", &["s"], NOW);
    take(log, "b", &["s"], NOW + 10);
    let last = NOW + TICKET_MS - 1;
    assert!(log.is_first("a", last).unwrap() && !log.is_first("b", last).unwrap());
    assert!(!log.is_first("a", last + 1).unwrap() && log.is_first("b", last + 1).unwrap());
    assert!(!log.is_first("b", NOW + 10 + TICKET_MS).unwrap());
    // A new ticket goes to the end of the queue.
    take(log, "a", &["s"], last + 1);
    assert!(!log.is_first("a", last + 1).unwrap() && log.is_first("b", last + 1).unwrap());
    b.increment(&record("s"), 0).unwrap();
    assert!(log.is_first("a", last + 1).unwrap());
    // An append compares expiry with the time of its last event.
    assert!(is_conflict(&late.increment(&record("s"), 1), &[record("s")]));
    let mut events = late.next(write(late.last, &record("s"), 1, &[increment()]));
    events.iter_mut().for_each(|event| event.at = last + 1 + TICKET_MS);
    late.append_events(events).unwrap();
}

/// A request that renews its ticket keeps its position, for another [`TICKET_MS`] and for all its records.
pub fn a_renewed_ticket_keeps_its_place<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let [_a, _b] = ["a", "b"].map(|id| Request::begin(log, id));
    take(log, "a", &["s"], NOW);
    take(log, "b", &["s"], NOW + 10);
    take(log, "a", &["s"], NOW + TICKET_MS - 1);
    let later = NOW + TICKET_MS + 5;
    assert!(log.is_first("a", later).unwrap() && !log.is_first("b", later).unwrap());
    // A renewal that adds a record also renews the ticket's other records.
    take(log, "a", &["other"], NOW + 2 * TICKET_MS - 2);
    take(log, "b", &["s"], NOW + 2 * TICKET_MS - 2);
    let later = NOW + 3 * TICKET_MS - 3;
    assert!(log.is_first("a", later).unwrap() && !log.is_first("b", later).unwrap());
}

/// Queued writers commit in queue order, each exactly once in a round.
pub fn queued_writers_commit_in_order<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let names: Vec<String> = (0..8).map(|n| format!("writer {}", n * 5 % 8)).collect();
    let mut writers: Vec<Request<'_>> = names.iter().map(|id| Request::begin(log, id)).collect();
    for round in 0..3 {
        for id in &names {
            take(log, id, &["s"], NOW);
        }
        for turn in 0..writers.len() {
            let served: Vec<usize> = (0..writers.len()).filter(|at| is_first(log, &names[*at])).collect();
            assert_eq!(served, [turn], "round {round}");
            let version = version(log, &scope);
            for (at, writer) in writers.iter_mut().enumerate().rev() {
                assert_eq!(writer.increment(&scope, version).is_ok(), at == turn, "{at} at turn {turn}");
                if at == turn {
                    break;
                }
            }
        }
    }
}
