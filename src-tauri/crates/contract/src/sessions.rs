//! Reads of a request from its session: earlier requests, and notes that count.

use engine::event::{Outcome, RequestStatus};
use engine::log::{Log, NoteKind};
use serde_json::{Value, json};

use crate::Subject;
use crate::meanwhile::read_meanwhile;
use crate::writing::*;

fn earlier(log: &dyn Log, before: &str, newest: usize) -> Vec<String> {
    log.session_events("s", before, newest).unwrap().iter().map(|(id, _)| id.to_string()).collect()
}

/// `session_events` returns other requests of the session that completed, in the order of acceptance.
pub fn earlier_requests_are_completed_ones<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut late = Request::begin(log, "completed last");
    for (id, session, end) in [
        ("one", "s", Some(RequestStatus::Completed)),
        ("failed", "s", Some(RequestStatus::Failed)),
        ("incomplete", "s", Some(RequestStatus::Incomplete)),
        ("elsewhere", "other", Some(RequestStatus::Completed)),
        ("running", "s", None),
        ("two", "s", Some(RequestStatus::Completed)),
        ("asks", "s", Some(RequestStatus::Completed)),
    ] {
        let mut request = Request::start(log, id, Start::in_session(session)).unwrap();
        if let Some(status) = end {
            request.append(vec![note(id), finished(status)]).unwrap();
        }
    }
    assert_eq!(earlier(log, "asks", usize::MAX), ["one", "two"]);
    late.finish();
    assert_eq!(earlier(log, "asks", usize::MAX), ["completed last", "one", "two"]);
    assert_eq!(earlier(log, "asks", 2), ["one", "two"]);
    assert_eq!(earlier(log, "one", 2), ["two", "asks"]);
    assert_eq!(earlier(log, "asks", 0), [] as [&str; 0]);
    for (id, events) in log.session_events("s", "", usize::MAX).unwrap() {
        assert_eq!(events, log.own_events(&id).unwrap());
    }
}

/// `notes` returns the newest notes of one kind over all requests of the session, oldest first.
pub fn notes_are_the_newest_of_their_kind<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut requests = ["one", "two", "asks"].map(|id| Request::begin(log, id));
    Request::start(log, "elsewhere", Start::in_session("other")).unwrap();
    for (turn, at) in [0, 1, 2, 0, 1].into_iter().enumerate() {
        let request: &mut Request<'_> = &mut requests[at];
        let metadata = engine::event::EventKind::MetadataSet { metadata: json!({ "title": turn }) };
        let kinds = [block_started(), entry(turn as u64), metadata, block_finished(Outcome::Completed, Vec::new())];
        let numbered = kinds.into_iter().zip(request.last + 1..);
        let events = numbered.map(|(kind, seq)| event_of(seq, "root", turn as u32, kind)).collect();
        request.append_events(events).unwrap();
    }
    let notes = |before: &str, newest| log.notes("s", before, NoteKind::Journal, newest).unwrap();
    assert_eq!(notes("asks", usize::MAX), [0, 3, 1, 4], "by request, as they were accepted");
    assert_eq!(notes("", usize::MAX), [0, 3, 1, 4, 2]);
    assert_eq!(notes("asks", 3), [3, 1, 4]);
    assert_eq!(notes("asks", 0), [] as [Value; 0]);
    let metadata = log.notes("s", "asks", NoteKind::Metadata, 2).unwrap();
    assert_eq!(metadata, [json!({ "title": 1 }), json!({ "title": 4 })]);
    assert_eq!(journal(log, "other"), [] as [Value; 0]);
}

/// Notes of an attempt count when it has completed or failed. Before that, only notes of returned callbacks count.
/// Notes of an abandoned attempt never count.
pub fn notes_count_with_their_attempt<S: Subject>() {
    let subject = S::create();
    let log = subject.log();
    let mut request = Request::begin(log, "r");
    let ends = [
        ("completed", Some(Outcome::Completed)),
        ("failed", Some(Outcome::Failed)),
        ("suspended", Some(Outcome::Suspended)),
        ("abandoned", Some(Outcome::Abandoned)),
        ("unfinished", None),
    ];
    for (attempt, (name, end)) in ends.into_iter().enumerate() {
        let first = request.last + 1;
        let mut kinds = vec![
            block_started(),
            entry(name),
            entry(format!("{name}, in a callback")),
            callback_returned(vec![first + 2], Vec::new()),
            entry(format!("{name}, at the end")),
        ];
        kinds.extend(end.map(|outcome| block_finished(outcome, Vec::new())));
        let numbered = kinds.into_iter().zip(first..);
        let events = numbered.map(|(kind, seq)| event_of(seq, "root", attempt as u32, kind)).collect();
        request.append_events(events).unwrap();
    }
    let counting = [
        "completed",
        "completed, in a callback",
        "completed, at the end",
        "failed",
        "failed, in a callback",
        "failed, at the end",
        "suspended, in a callback",
        "unfinished, in a callback",
    ];
    assert_eq!(journal(log, "s"), counting);
    for newest in 0..counting.len() {
        let notes = log.notes("s", "", NoteKind::Journal, newest).unwrap();
        assert_eq!(notes, counting[counting.len() - newest..]);
    }
    // The end of a request does not end its attempts.
    request.finish();
    assert_eq!(journal(log, "s"), counting);
}

/// A note and a record of the same append become visible together, however many events are between them.
pub fn notes_and_records_become_visible_together<S: Subject>() {
    let subject = S::create();
    let scope = record("s");
    let mut request = Request::begin(subject.log(), "r");
    let look = || {
        let log = subject.log();
        let before = version(log, &scope);
        let notes = journal(log, "s").len() as u64;
        let after = version(log, &scope);
        assert!((before..=after).contains(&notes), "{notes} notes, version {before} to {after}");
    };
    read_meanwhile(look, || {
        for turn in 0..80 {
            let first = request.last + 1;
            let mut kinds = vec![block_started(), entry(turn), callback_returned(vec![first + 1], Vec::new())];
            kinds.extend((0..20).map(|_| note("between")));
            kinds.extend(write(request.last + kinds.len() as u64, &scope, turn, &[increment()]));
            let numbered = kinds.into_iter().zip(first..);
            let events = numbered.map(|(kind, seq)| event_of(seq, "root", turn as u32, kind)).collect();
            request.append_events(events).unwrap();
        }
    });
    assert_eq!((journal(subject.log(), "s").len(), version(subject.log(), &scope)), (80, 80));
}
