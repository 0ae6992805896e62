//! What a later version wrote is read by this one, and what is large is read where it lies.

use std::collections::BTreeMap;

use engine::event::{EventKind, ForkedFrom, Outcome};
use engine::item::{ItemStatus, NewItem};
use engine::log::{AppendMode, Log, NoteKind};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::{Value, json};
use store::{EventQuery, NoteQuery, SearchQuery};

use crate::support::*;

#[test]
fn an_event_of_an_unknown_kind_is_read_everywhere() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.append((0..4).map(|n| note(format!("word {n}."))).collect(), AppendMode::Committed).unwrap();
    request.write(&session_scope(), 0, &[push("list", json!(1))]).unwrap();
    request.finish();
    let connection = Connection::open(bed.store.path()).unwrap();
    connection
        .execute_batch(
            "UPDATE event SET body_checksum = NULL;
             UPDATE event SET kind = 'foreseen', body = '{\"what\":{\"deep\":[1,\"marvel\"]}}' WHERE seq = 3;
             UPDATE event SET body = '{\"text\":\"word 2.\",\"later\":{\"x\":1}}' WHERE seq = 4;
             UPDATE event SET body = '{\"later\":true,' || substr(body, 2) WHERE kind = 'request_started'",
        )
        .unwrap();
    let events = bed.events("r", &EventQuery::default()).unwrap();
    assert_eq!(events.len(), 8);
    let EventKind::Unknown { name, fields } = &events[2].kind else { panic!("{:?}", events[2].kind) };
    assert_eq!((&**name, &fields["what"]["deep"][1]), ("foreseen", &json!("marvel")));
    assert_eq!(events[2].kind.name(), "foreseen");
    assert_eq!(events[3].kind, note("word 2."));
    let foreseen = EventQuery { kind: Some("foreseen".to_owned()), ..EventQuery::default() };
    assert_eq!(bed.events("r", &foreseen).unwrap().len(), 1);
    let found = |text: &str| bed.search(&SearchQuery { text: text.to_owned(), ..SearchQuery::default() }).unwrap();
    assert_eq!(found("word 3.").len(), 1);
    found("marvel");
    assert_eq!(bed.record(&session_scope()).unwrap().version, 1);
    let checked = bed.check().unwrap();
    assert_eq!(checked.unknown, BTreeMap::from([("foreseen".to_owned(), 1)]));
    // Its weight was counted as what it was before.
    let totals = |problem: &store::Problem| problem.what.contains("the total of");
    assert!(checked.problems.iter().all(totals), "{:?}", checked.problems);
    // It travels as it is.
    let there = self::bed();
    there.import(bed.bundle(&["r".to_owned()]).unwrap()).unwrap();
    assert_eq!(there.events("r", &EventQuery::default()).unwrap()[2], events[2]);
    let checked = there.check().unwrap();
    assert_eq!((checked.problems, checked.unknown.len()), (Vec::new(), 1));
}

/// A long log is decoded by a thread of its own, whose stack was too small for what an event may hold.
#[test]
fn a_whole_log_is_read_as_its_events_are() {
    const NOTES: usize = 3_000;
    const DEPTH: usize = 3_000;
    let read = || {
        let bed = bed();
        let mut request = Request::begin(&bed, "r");
        let large = "large ".repeat(2_000);
        let texts = (0..NOTES).map(|n| if n % 700 == 0 { note(&large) } else { note(format!("word {n}.")) });
        request.append(texts.collect(), AppendMode::Committed).unwrap();
        request.write(&session_scope(), 0, &[push("list", json!(1))]).unwrap();
        let whole = || bed.log_of("r").unwrap().expect("it is there").1;
        assert_eq!(whole(), bed.events("r", &EventQuery::default()).unwrap());
        let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
        Connection::open(bed.store.path())
            .unwrap()
            .execute_batch(&format!(
                "UPDATE event SET body = '{{\"text\":\"not as it was\"}}' WHERE seq IN (7, 2000);
                 UPDATE event SET body = '{{\"text\":\"deep\",\"later\":{deep}}}', body_checksum = NULL WHERE seq = 1500"
            ))
            .unwrap();
        let events = whole();
        assert_eq!(events, bed.events("r", &EventQuery::default()).unwrap());
        let damaged: Vec<u64> = events.iter().filter(|event| event.kind.is_damaged()).map(|event| event.seq).collect();
        assert_eq!(damaged, [7, 2000]);
        assert_eq!(events.len(), NOTES + 3);
    };
    // As much as threads of ours have that hold values.
    std::thread::Builder::new().stack_size(64 << 20).spawn(read).unwrap().join().unwrap();
}

#[test]
fn a_large_event_of_an_unknown_kind_travels_too() {
    let (bed, there) = (bed(), bed());
    let mut request = Request::begin(&bed, "r");
    let fields = object(json!({ "large": "x".repeat(9_000), "small": 1, "$payload": "no mark" }));
    request.commit(EventKind::Unknown { name: "foreseen".to_owned(), fields }).unwrap();
    request.finish();
    there.import(bed.bundle(&["r".to_owned()]).unwrap()).unwrap();
    let events = bed.events("r", &EventQuery::default()).unwrap();
    assert_eq!(there.events("r", &EventQuery::default()).unwrap(), events);
    let EventKind::Unknown { fields, .. } = &events[1].kind else { panic!("{:?}", events[1].kind) };
    assert_eq!((fields["large"].as_str().map(str::len), &fields["$payload"]), (Some(9_000), &json!("no mark")));
}

/// So many small fields that they leave the line together.
fn wide() -> Value {
    Value::Object((0..200).map(|n| (format!("field {n}"), json!(format!("value {n}")))).collect())
}

#[test]
fn titles_items_and_notes_are_read_where_they_are_large() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let mut metadata = object(wide());
    metadata.insert("title".to_owned(), json!("A wide one"));
    request.commit(EventKind::MetadataSet { metadata: metadata.clone().into() }).unwrap();
    request.commit_at("root", 0, block_started("root"));
    let begin = request.last + 1;
    let entries = (0..700).map(|n| (Some("root"), 0, EventKind::JournalAppended { entry: json!({ "n": n }) }));
    request.append_at(entries.collect(), AppendMode::Committed).unwrap();
    let returned = EventKind::CallbackReturned {
        callback: "tap~0".to_owned(),
        fingerprint: None,
        returned: None,
        events: (begin..begin + 700).collect(),
        superseded: Vec::new(),
        memoized: false,
        commits: Vec::new(),
    };
    request.commit_at("root", 0, returned);
    request.commit_at("root", 0, block_finished(Outcome::Suspended, None));
    let item = NewItem {
        item_type: "message".to_owned(),
        status: ItemStatus::Completed,
        key: None,
        transient: true,
        agent_type: None,
        agent_name: None,
        item_visibility: None,
        owned_by: None,
        payload: object(wide()),
    };
    request.commit(EventKind::ItemAdded { item }).unwrap();
    let last = request.last;
    request.finish();
    assert_eq!(bed.notes_of("ses", NoteKind::Journal, NoteQuery::default()).unwrap().len(), 700);
    assert_eq!(bed.session("ses").unwrap().unwrap().title.as_deref(), Some("A wide one"));
    // A fork before and after that is called the same, and counts no transient item.
    let mut kind = started("fork_1");
    if let EventKind::RequestStarted { forked_from, .. } = &mut kind {
        *forked_from = Some(ForkedFrom { request_id: "r".into(), seq: last });
    }
    wait(bed.append("f", &crate::support::first(), vec![event(1, None, 0, kind)], AppendMode::Committed))
        .unwrap()
        .unwrap();
    let fork = bed.session("fork_1").unwrap().unwrap();
    assert_eq!((fork.title.as_deref(), fork.items), (Some("A wide one"), 0));
    let mut second = Request::begin(&bed, "second");
    second.finish();
    let mut kind = started("fork_2");
    if let EventKind::RequestStarted { forked_from, .. } = &mut kind {
        *forked_from = Some(ForkedFrom { request_id: "second".into(), seq: 1 });
    }
    wait(bed.append("g", &crate::support::first(), vec![event(1, None, 0, kind)], AppendMode::Committed))
        .unwrap()
        .unwrap();
    assert_eq!(bed.session("fork_2").unwrap().unwrap().title.as_deref(), Some("A wide one"));
    assert_eq!(bed.check().unwrap().problems, Vec::new());
}

fn sum(scope: &ScopeKey, by: i64, sum: i64, version: u64) -> EventKind {
    let operation = Operation::Increment { by: object(json!({ "n": by })) };
    EventKind::StateChanged { scope: scope.clone(), operation, value: Some(json!({ "n": sum })), version }
}

/// Three increments and a push by two requests, of which the second saw what was there before the first; what the
/// second's commit says of it is given.
fn problems_of(rebased: Vec<Value>, stale: bool) -> Vec<String> {
    let bed = bed();
    let user = ScopeKey::new(ScopeKind::User, "ada");
    let mut first = Request::begin_in(&bed, "first", "a");
    let kinds = vec![sum(&user, 1, 1, 1), EventKind::Committed { commits: vec![commit(&user, 0, 1, vec![2])] }];
    first.append(kinds, AppendMode::Committed).unwrap();
    let mut second = Request::begin_in(&bed, "second", "b");
    let (one, two) = if stale { (10, 1) } else { (11, 2) };
    let mut commit = commit(&user, 1, 4, vec![2, 3, 4]);
    commit.rebased = rebased;
    let kinds = vec![
        sum(&user, 10, one, two),
        changed(&user, push("list", json!(1)), two + 1),
        sum(&user, 100, one + 100, two + 2),
        EventKind::Committed { commits: vec![commit] },
    ];
    second.append(kinds, AppendMode::Committed).unwrap();
    bed.check().unwrap().problems.into_iter().map(|problem| problem.what).collect()
}

#[test]
fn a_write_that_says_what_did_not_come_into_force_is_a_problem() {
    assert_eq!(problems_of(Vec::new(), false), Vec::<String>::new());
    let right = vec![json!({ "n": 11 }), Value::Null, json!({ "n": 111 })];
    assert_eq!(problems_of(right.clone(), true), Vec::<String>::new());
    assert_eq!(problems_of(right, false), Vec::<String>::new());
    let stale = problems_of(Vec::new(), true);
    assert_eq!(stale.len(), 3, "{stale:?}");
    assert!(stale[0].contains("{\"n\":10} at version 1") && stale[0].contains("{\"n\":11} at version 2"), "{stale:?}");
    let wrong = problems_of(vec![json!({ "n": 11 }), Value::Null, json!({ "n": 112 })], true);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(problems_of(vec![json!({ "n": 11 }), json!({ "n": 11 }), json!({ "n": 111 })], true).len(), 1);
    assert_eq!(problems_of(vec![Value::Null, Value::Null, json!({ "n": 111 })], true).len(), 1);
    assert!(problems_of(vec![json!({ "n": 11 })], true)[0].contains("tells what 1 operations"));
}

/// What an old log does not tell of a conflict is added when it is brought here.
#[test]
fn an_import_completes_what_an_old_log_does_not_tell() {
    let (bed, there) = (bed(), bed());
    let user = ScopeKey::new(ScopeKind::User, "ada");
    let mut first = Request::begin_in(&bed, "first", "a");
    let kinds = vec![sum(&user, 1, 1, 1), EventKind::Committed { commits: vec![commit(&user, 0, 1, vec![2])] }];
    first.append(kinds, AppendMode::Committed).unwrap();
    first.finish();
    let mut second = Request::begin_in(&bed, "second", "b");
    let stale = vec![sum(&user, 10, 10, 1), EventKind::Committed { commits: vec![commit(&user, 1, 2, vec![2])] }];
    second.append(stale, AppendMode::Committed).unwrap();
    second.finish();
    assert_eq!(bed.check().unwrap().problems.len(), 1);
    there.import(bed.bundle(&["first".to_owned(), "second".to_owned()]).unwrap()).unwrap();
    assert_eq!(there.check().unwrap().problems, Vec::new());
    let committed = there.event_at("second", 3).unwrap().unwrap();
    assert_eq!(committed.kind.commits()[0].rebased, [json!({ "n": 11 })]);
    // And where the database itself is old.
    let path = bed.store.path().to_owned();
    let Bed { folder: _folder, store } = bed;
    drop(store);
    Connection::open(&path).unwrap().execute_batch(&format!("{WITHOUT_LISTS}; {OLDER}")).unwrap();
    let store = store::Store::open(&path, store::Options::default()).unwrap();
    assert_eq!(store.check().unwrap().problems, Vec::new());
}
