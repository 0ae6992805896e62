//! Promises 4 and 5 of a log that outlives its process: durable appends, and durability of everything that was read.

use std::sync::Arc;

use engine::concurrency::Policy;
use engine::event::RequestStatus;
use engine::log::{AppendError, AppendMode, Record};
use engine::state::State;
use serde_json::json;

use crate::Durable;
use crate::writing::*;

/// How many instants a test kills the log at.
const KILLS: u64 = 12;

/// So do all earlier appends, to any request and in any mode.
pub fn a_committed_append_survives_a_kill<S: Durable>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let (mut a, mut b) = (Request::begin(log, "a"), Request::begin(log, "b"));
    for turn in 0..KILLS {
        drop(a.send(vec![note("evidence")], AppendMode::Evidence));
        let kinds = write(a.last, &scope, turn, &[increment()]);
        wait(a.send(kinds, AppendMode::Boundary)).unwrap();
        drop(a.send(vec![entry("evidence")], AppendMode::Evidence));
        b.append(vec![note("waited for")]).unwrap();
        let left = subject.killed();
        for request in [&a, &b] {
            assert_eq!(seqs(left.log(), &request.id), (1..=request.last).collect::<Vec<_>>(), "of {}", request.id);
        }
        assert_eq!((version(left.log(), &scope), state(left.log(), &scope)), (turn + 1, json!({ "n": turn + 1 })));
    }
}

/// Of appends whose results were not awaited, a kill leaves a prefix, and each append whole.
pub fn a_kill_leaves_whole_appends_in_their_order<S: Durable>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let (mut a, mut b) = (Request::begin(log, "a"), Request::begin(log, "b"));
    for turn in 0..KILLS * 10 {
        let mut kinds = vec![note("one"), note("two")];
        kinds.extend(write(a.last + 2, &scope, turn, &[increment()]));
        drop(a.send(kinds, [AppendMode::Boundary, AppendMode::Evidence][turn as usize % 2]));
        drop(b.send(vec![note("after it")], AppendMode::Evidence));
        if turn % 10 == 9 {
            let left = subject.killed();
            let (of_a, of_b) = (seqs(left.log(), "a"), seqs(left.log(), "b"));
            assert_eq!(of_a, (1..=of_a.len() as u64).collect::<Vec<_>>());
            assert_eq!((of_a.len() - 1) % 4, 0, "only part of an append was stored");
            let kept = (of_a.len() as u64 - 1) / 4;
            assert_eq!(version(left.log(), &scope), kept);
            // The appends of both alternate.
            assert!([kept, kept.saturating_sub(1)].contains(&(of_b.len() as u64 - 1)), "{kept} and {}", of_b.len() - 1);
        }
    }
}

/// Everything that a reader saw was committed before.
pub fn what_was_read_survives_a_kill<S: Durable>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    let mut request = Request::begin(log, "r");
    for turn in 0..KILLS {
        let mut kinds =
            vec![block_started(), entry(turn), block_finished(engine::event::Outcome::Completed, Vec::new())];
        kinds.extend(write(request.last + 3, &scope, turn, &[increment()]));
        drop(request.send(kinds, AppendMode::Evidence));
        let (version_seen, journal_seen) = (version(log, &scope), journal(log, "s"));
        let left = subject.killed();
        assert!(version(left.log(), &scope) >= version_seen);
        assert!(journal(left.log(), "s").starts_with(&journal_seen));
        let events_seen = log.own_events("r").unwrap();
        let left = subject.killed();
        assert_eq!(left.log().own_events("r").unwrap(), events_seen);
        assert_eq!(version(left.log(), &scope), turn + 1);
    }
}

/// Closing the log commits every append, also if its result was not awaited.
pub fn a_log_that_is_closed_keeps_everything<S: Durable>() {
    let subject = S::create();
    let mut request = Request::begin(subject.log(), "r");
    let mut answers = Vec::new();
    for turn in 0..200 {
        answers.push(request.send(vec![note("one more")], MODES[turn % 3]));
    }
    let last = request.last;
    let subject = subject.reopened();
    answers.into_iter().for_each(|answer| wait(answer).unwrap());
    assert_eq!(seqs(subject.log(), "r"), (1..=last).collect::<Vec<_>>());
}

/// A reopened log keeps all promises.
pub fn a_log_that_is_opened_again_keeps_its_promises<S: Durable>() {
    let subject = S::create();
    let scope = record("s");
    let mut request = Request::begin(subject.log(), "r");
    request.increment(&scope, 0).unwrap();
    request.set_status(RequestStatus::Suspended).unwrap();
    let first = request.lease.clone();
    request.resume("database.next-process").unwrap();
    Request::start(subject.log(), "holder", Start::with_key(Policy::Queue, "key")).unwrap();
    Request::start(subject.log(), "waits", Start::queued("key")).unwrap();
    let (last, lease) = (request.last, request.lease.clone());
    for subject in [subject.killed(), subject.reopened()] {
        let log = subject.log();
        let mut request = Request { last, lease: lease.clone(), ..Request::unstarted(log, "r", OWNER) };
        assert!(matches!(Request::start(log, "r", Start::default()).map(drop), Err(AppendError::Exists)));
        let of_another = Start { user: "grace", ..Start::default() };
        assert!(matches!(Request::start(log, "g", of_another).map(drop), Err(AppendError::NotYours { .. })));
        let late = wait(log.append("r", &first, request.next(vec![note("too late")]), AppendMode::Committed));
        assert!(is_fenced(&late, "r"), "{late:?}");
        let gap = request.append_events(vec![event(last + 2, note("a gap"))]);
        assert!(matches!(gap, Err(AppendError::OutOfOrder { .. })), "{gap:?}");
        assert!(is_conflict(&request.increment(&scope, 0), std::slice::from_ref(&scope)));
        request.increment(&scope, 1).unwrap();
        assert_eq!((version(log, &scope), state(log, &scope)), (2, json!({ "n": 2 })));
        assert!(!log.may_leave_queue("waits").unwrap());
        let late = Request::start(log, "late", Start::with_key(Policy::Reject, "key"));
        assert_eq!(holder(late).as_deref(), Some("holder"));
    }
}

/// Only the log of a replay can set records; stored records are derived from events.
pub fn a_record_cannot_be_set<S: Durable>() {
    let subject = S::create();
    let log = subject.log();
    let scope = record("s");
    Request::begin(log, "r").increment(&scope, 0).unwrap();
    let set: State = fields(json!({ "n": 9 })).into();
    log.set_record(scope.clone(), Record { version: 9, state: Arc::new(set) });
    assert_eq!((version(log, &scope), state(log, &scope)), (1, json!({ "n": 1 })));
    let subject: S = subject.reopened();
    assert_eq!((version(subject.log(), &scope), state(subject.log(), &scope)), (1, json!({ "n": 1 })));
}
