//! The promises between two processes: handles of one log that share nothing but the storage.

use engine::concurrency::Policy;
use engine::event::RequestStatus;
use engine::log::{AppendError, AppendMode, Log};
use serde_json::json;

use crate::Shared;
use crate::meanwhile::read_meanwhile;
use crate::writing::*;

/// Writers through both handles take turns, and each sees at once what the other committed.
pub fn two_handles_conflict_and_see_each_other<S: Shared>() {
    let subject = S::create();
    let (here, there) = (subject.log(), &*subject.connect());
    let scope = record("s");
    let (mut mine, mut theirs) = (Request::begin(here, "mine"), Request::begin(there, "theirs"));
    for turn in 0..20 {
        let (first, second) = if turn % 2 == 0 { (&mut mine, &mut theirs) } else { (&mut theirs, &mut mine) };
        first.write(&scope, turn, &[patch(json!({ "turn": turn }))]).unwrap();
        for log in [here, there] {
            assert_eq!((version(log, &scope), state(log, &scope)), (turn + 1, json!({ "turn": turn })));
        }
        let late = second.write(&scope, turn, &[patch(json!({ "turn": "lost" }))]);
        assert!(is_conflict(&late, std::slice::from_ref(&scope)), "{late:?}");
    }
}

/// A committed append is visible through every handle, with all earlier appends.
pub fn commits_of_one_handle_are_visible_to_the_other<S: Shared>() {
    let subject = S::create();
    let (here, there) = (subject.log(), &*subject.connect());
    let (mut a, mut b) = (Request::begin(here, "a"), Request::begin(here, "b"));
    for _ in 0..30 {
        drop(a.send(vec![note("evidence")], AppendMode::Evidence));
        drop(a.send(vec![note("boundary")], AppendMode::Boundary));
        b.append(vec![note("waited for")]).unwrap();
        assert_eq!(seqs(there, "a"), (1..=a.last).collect::<Vec<_>>());
        assert_eq!(seqs(there, "b"), (1..=b.last).collect::<Vec<_>>());
    }
}

/// A reader through another handle does not wait for queued appends, and never sees a part of an append.
pub fn another_handle_never_sees_part_of_an_append<S: Shared>() {
    const EVENTS: usize = 25;
    let subject = S::create();
    let mut request = Request::begin(subject.log(), "r");
    let handle = subject.connect();
    let look = || {
        let seen = seqs(&*handle, "r").len() - 1;
        assert_eq!(seen % EVENTS, 0, "{seen} events are seen");
    };
    read_meanwhile(look, || {
        for turn in 0..120 {
            let kinds = (0..EVENTS).map(|n| note(format!("{turn} {n}"))).collect();
            wait(request.send(kinds, MODES[turn % 3])).unwrap();
        }
        request.append(Vec::new()).unwrap();
    });
}

/// One request may be written through several handles, one append after another.
pub fn a_request_goes_on_through_another_handle<S: Shared>() {
    let subject = S::create();
    let (here, there) = (subject.log(), &*subject.connect());
    let mut request = Request::begin(here, "r");
    for turn in 0..10 {
        request.append(vec![note("here")]).unwrap();
        let mut moved = request.through(there);
        moved.append(vec![note("there")]).unwrap();
        moved.increment(&record("s"), turn).unwrap();
        let behind = request.append(vec![note("behind")]);
        let is_named = matches!(behind, Err(AppendError::OutOfOrder { last, .. }) if last == moved.last);
        assert!(is_named, "{behind:?}");
        request.last = moved.last;
    }
    assert_eq!(seqs(here, "r"), (1..=request.last).collect::<Vec<_>>());
}

/// Ids, users, keys and leases apply to all handles.
pub fn ids_keys_and_leases_apply_to_all_handles<S: Shared>() {
    let subject = S::create();
    let (here, there) = (subject.log(), &*subject.connect());
    let mut holding = Request::start(here, "r", Start::with_key(Policy::Queue, "key")).unwrap();
    assert!(matches!(Request::start(there, "r", Start::default()).map(drop), Err(AppendError::Exists)));
    let of_another = Start { user: "grace", ..Start::default() };
    assert!(matches!(Request::start(there, "g", of_another).map(drop), Err(AppendError::NotYours { .. })));
    let mut waiting = Request::start(there, "waiting", Start::queued("key")).unwrap();
    assert!(!there.may_leave_queue("waiting").unwrap());
    assert_eq!(holder(waiting.set_status(RequestStatus::InProgress)).as_deref(), Some("r"));
    holding.set_status(RequestStatus::Suspended).unwrap();
    let mut taken = holding.through(there);
    taken.resume("database.next-process").unwrap();
    let late = holding.append(vec![note("too late")]);
    assert!(is_fenced(&late, "r"), "{late:?}");
    taken.finish();
    assert!(here.may_leave_queue("waiting").unwrap());
    waiting.set_status(RequestStatus::InProgress).unwrap();
}

/// A ticket that was taken through one handle blocks writers of all others.
pub fn tickets_hold_for_all_handles<S: Shared>() {
    let subject = S::create();
    let (here, there) = (subject.log(), &*subject.connect());
    let scope = record("s");
    let (mut first, mut second) = (Request::begin(here, "first"), Request::begin(there, "second"));
    // By now both handles know that no request waits.
    first.increment(&scope, 0).unwrap();
    second.increment(&scope, 1).unwrap();
    let at = BEGAN + 100;
    wait(here.take_ticket("first", std::slice::from_ref(&scope), at)).unwrap();
    wait(there.take_ticket("second", std::slice::from_ref(&scope), at)).unwrap();
    for log in [here, there] {
        assert!(log.is_first("first", at).unwrap() && !log.is_first("second", at).unwrap());
    }
    assert!(is_conflict(&second.increment(&scope, 2), std::slice::from_ref(&scope)));
    first.increment(&scope, 2).unwrap();
    assert!(there.is_first("second", at).unwrap());
    assert!(is_conflict(&first.increment(&scope, 3), std::slice::from_ref(&scope)));
    second.increment(&scope, 3).unwrap();
}

/// Writers of one record through both handles at the same time: the numbers add up.
pub fn handles_that_race_lose_no_update<S: Shared>() {
    const TURNS: u64 = 40;
    let subject = S::create();
    let scope = record("s");
    std::thread::scope(|threads| {
        for n in 0..2 {
            let (subject, scope) = (&subject, &scope);
            threads.spawn(move || {
                let handle = subject.connect();
                let log: &dyn Log = &*handle;
                let mut request = Request::begin(log, &format!("r{n}"));
                let mut done = 0;
                while done < TURNS {
                    match request.increment(scope, version(log, scope)) {
                        Ok(()) => done += 1,
                        Err(AppendError::Conflict(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                assert_eq!(seqs(log, &request.id), (1..=request.last).collect::<Vec<_>>());
            });
        }
    });
    let log = subject.log();
    assert_eq!((version(log, &scope), state(log, &scope)), (2 * TURNS, json!({ "n": 2 * TURNS })));
}

/// If two handles request a free key at the same time, one gets it.
pub fn a_race_of_handles_for_a_key_has_one_winner<S: Shared>() {
    let subject = S::create();
    for round in 0..10 {
        let key = format!("key {round}");
        let won: usize = std::thread::scope(|threads| {
            let ask = |n: usize| {
                let (subject, key) = (&subject, &key);
                move || {
                    let handle = subject.connect();
                    let start = Start::with_key(Policy::Reject, key);
                    match Request::start(&*handle, &format!("{round} {n}"), start).map(drop) {
                        Ok(()) => 1,
                        Err(AppendError::Busy { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                }
            };
            let running = [threads.spawn(ask(0)), threads.spawn(ask(1))];
            running.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(won, 1, "round {round}");
    }
}
