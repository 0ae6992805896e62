//! The five promises of the log.

use std::sync::{Arc, Mutex};

use engine::event::{EventKind, RequestStatus};
use engine::log::{AppendError, AppendMode, Lease, Log};
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::json;
use store::{Committed, EventQuery};

use crate::support::*;

#[test]
fn a_gap_is_refused_and_named() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.last = 4;
    assert!(matches!(request.commit(note("late")), Err(AppendError::OutOfOrder { last: 1, found: 5 })));
    let events = vec![event(2, None, 0, note("b")), event(4, None, 0, note("d"))];
    assert!(matches!(
        wait(bed.append("r", &first(), events, AppendMode::Committed)).unwrap(),
        Err(AppendError::OutOfOrder { last: 2, found: 4 })
    ));
    assert_eq!(bed.last_seq("r").unwrap(), 1);
    let early =
        wait(bed.append("nobody", &first(), vec![event(1, None, 0, note("b"))], AppendMode::Committed)).unwrap();
    let Err(AppendError::Storage(message)) = early else { panic!("kept") };
    assert_eq!(message, "request \"nobody\" was never started");
}

#[test]
fn a_request_id_is_used_once() {
    let bed = bed();
    Request::begin(&bed, "r").finish();
    let again =
        wait(bed.append("r", &first(), vec![event(1, None, 0, started("other"))], AppendMode::Committed)).unwrap();
    assert!(matches!(again, Err(AppendError::Exists)));
    assert!(bed.session("other").unwrap().is_none());
    drop(bed.store);
    let store = open_in(&bed.folder);
    let again =
        wait(store.append("r", &first(), vec![event(1, None, 0, started("other"))], AppendMode::Committed)).unwrap();
    assert!(matches!(again, Err(AppendError::Exists)));
}

#[test]
fn a_commit_that_lost_the_race_keeps_its_evidence_and_its_place() {
    let bed = bed();
    let scope = session_scope();
    let (mut a, mut b) = (Request::begin(&bed, "a"), Request::begin(&bed, "b"));
    a.write(&scope, 0, &[patch(json!({"by": "a"}))]).unwrap();
    let heard: Arc<Mutex<Vec<Committed>>> = Arc::default();
    let ear = heard.clone();
    let id = bed.listen(move |committed| ear.lock().unwrap().push(committed.clone()));
    let Err(AppendError::Conflict(scopes)) = b.write(&scope, 0, &[patch(json!({"by": "b"}))]) else { panic!("kept") };
    assert_eq!(scopes, std::slice::from_ref(&scope));
    let events = bed.events("b", &EventQuery::default()).unwrap();
    assert_eq!(
        events.iter().map(|event| event.kind.name()).collect::<Vec<_>>(),
        ["request_started", "state_changed", "commit_refused"]
    );
    assert_eq!(bed.record(&scope).unwrap().state.to_json(), json!({"by": "a"}));
    // The same operation, committed again from the newer version.
    let again = EventKind::Committed { commits: vec![commit(&scope, 1, 2, vec![2])] };
    b.commit(again).unwrap();
    let record = bed.record(&scope).unwrap();
    assert_eq!((record.version, record.state.to_json()), (2, json!({"by": "b"})));
    bed.unlisten(id);
    b.commit(note("not heard")).unwrap();
    // A second append is answered only after the listeners of the first were called.
    let heard = heard.lock().unwrap();
    let heard: Vec<Vec<&str>> =
        heard.iter().map(|committed| committed.events.iter().map(|event| event.kind.name()).collect()).collect();
    assert_eq!(heard, [vec!["state_changed", "commit_refused"], vec!["committed"]]);
}

#[test]
fn one_append_may_move_a_record_twice() {
    let bed = bed();
    let scope = session_scope();
    let mut request = Request::begin(&bed, "r");
    let kinds = vec![
        changed(&scope, patch(json!({"n": 1})), 1),
        EventKind::Committed { commits: vec![commit(&scope, 0, 1, vec![2])] },
        changed(&scope, patch(json!({"n": 2})), 2),
        EventKind::Committed { commits: vec![commit(&scope, 1, 2, vec![4])] },
    ];
    request.append(kinds, AppendMode::Committed).unwrap();
    assert_eq!(bed.record(&scope).unwrap().state.to_json(), json!({"n": 2}));
}

#[test]
fn evidence_joins_the_next_step_boundary_or_sixteen_milliseconds() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let (seq, first) = (request.last + 1, request.last + 1);
    drop(bed.append(
        "r",
        &Lease::first("process-1"),
        vec![event(seq, None, 0, note("evidence"))],
        AppendMode::Evidence,
    ));
    request.last = first;
    request.commit(note("boundary")).unwrap();
    assert_eq!(bed.last_seq("r").unwrap(), 3);
    drop(bed.append("r", &Lease::first("process-1"), vec![event(4, None, 0, note("alone"))], AppendMode::Evidence));
    let begin = std::time::Instant::now();
    while bed.last_seq("r").unwrap() < 4 {
        assert!(begin.elapsed().as_secs() < 5, "evidence was not written");
        std::thread::yield_now();
    }
}

#[test]
fn two_processes_on_one_file_conflict_and_see_each_other() {
    let bed = bed();
    let scope = ScopeKey::new(ScopeKind::User, "ada");
    let other = open_in(&bed.folder);
    let (mut mine, mut theirs) = (Request::begin(&bed, "mine"), Request::begin(&other, "theirs"));
    let mut version = 0;
    for round in 0..20 {
        let (first, second) = if round % 2 == 0 { (&mut mine, &mut theirs) } else { (&mut theirs, &mut mine) };
        first.write(&scope, version, &[patch(json!({"round": round}))]).unwrap();
        assert!(matches!(
            second.write(&scope, version, &[patch(json!({"round": "lost"}))]),
            Err(AppendError::Conflict(_))
        ));
        version += 1;
        for store in [&bed.store, &other] {
            let record = store.record(&scope).unwrap();
            assert_eq!((record.version, record.state.to_json()), (version, json!({"round": round})));
        }
    }
    assert!(bed.changed_elsewhere().unwrap());
    assert!(!bed.changed_elsewhere().unwrap());
    mine.commit(note("mine")).unwrap();
    assert!(!bed.changed_elsewhere().unwrap());
    // A request that moves to another process goes on where it was.
    let mut moved = Request { store: &other, id: "mine".to_owned(), last: mine.last, lease: mine.lease.clone() };
    moved.commit(note("theirs now")).unwrap();
    mine.last = moved.last;
    mine.commit(note("mine again")).unwrap();
}

#[test]
fn earlier_requests_of_a_session_count_when_they_completed() {
    let bed = bed();
    for (id, session, end) in [
        ("one", "ses", Some(RequestStatus::Completed)),
        ("two", "ses", Some(RequestStatus::Failed)),
        ("three", "other", Some(RequestStatus::Completed)),
        ("four", "ses", None),
        ("five", "ses", Some(RequestStatus::Completed)),
        ("six", "ses", Some(RequestStatus::Completed)),
    ] {
        let mut request = Request::begin_in(&bed, id, session);
        if let Some(status) = end {
            request.commit(finished(status)).unwrap();
        }
    }
    let earlier = bed.session_events("ses", "six", 50).unwrap();
    assert_eq!(earlier.iter().map(|(id, _)| &**id).collect::<Vec<_>>(), ["one", "five"]);
    assert_eq!(earlier[0].1, bed.events("one", &EventQuery::default()).unwrap());
}
