//! Atomic appends, order, compare-and-set, payloads, two processes on one file.

use engine::event::{EventKind, Recorded};
use engine::log::{AppendError, Durability, Log};
use serde_json::{Value, json};
use store::{EventQuery, RequestQuery, SessionQuery};

use crate::history::{History, block_started, ended, finished, open, session, started};

#[test]
fn a_request_id_is_used_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    History::new("r").start(&store);
    let mut again = History::new("r");
    let event = again.event(None, started());
    assert!(matches!(again.append(&store, vec![event]), Err(AppendError::Exists)));
}

#[test]
fn a_gap_is_refused_and_nothing_of_it_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    let mut history = History::new("r");
    history.start(&store);
    let _lost = history.event(None, ended());
    let event = history.event(None, ended());
    let error = history.append(&store, vec![event]).expect_err("a gap");
    assert!(matches!(error, AppendError::OutOfOrder { last: 1, found: 3 }), "{error}");
    assert_eq!(store.request("r").expect("readable").expect("there").last_seq, 1);
}

#[test]
fn a_lost_race_keeps_the_evidence_and_refuses_the_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    let (mut one, mut two) = (History::new("one"), History::new("two"));
    one.start(&store);
    two.start(&store);
    one.patch(&store, 0, json!({"a": 1})).expect("the first wins");
    let error = two.patch(&store, 0, json!({"a": 2})).expect_err("the second has lost");
    assert!(matches!(error, AppendError::Conflict(scopes) if scopes == [session()]));
    assert_eq!(store.record(&session()).expect("readable").state.to_json(), json!({"a": 1}));
    let kinds: Vec<_> = store.events("two", &EventQuery::default()).expect("readable").iter().map(|e| e.kind.name()).collect();
    assert_eq!(kinds, ["request_started", "block_started", "state_changed", "commit_refused"]);
    two.patch(&store, 1, json!({"b": 2})).expect("from the newer version it commits");
    assert_eq!(store.record(&session()).expect("readable").state.to_json(), json!({"a": 1, "b": 2}));
}

#[test]
fn two_stores_on_one_file_see_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("f.db");
    let (mine, theirs) = (open(&file), open(&file));
    let (mut one, mut two) = (History::new("one"), History::new("two"));
    one.start(&mine);
    two.start(&theirs);
    assert_eq!(mine.record(&session()).expect("readable").version, 0);
    two.patch(&theirs, 0, json!({"by": "them"})).expect("it commits");
    assert_eq!(mine.record(&session()).expect("readable").state.to_json(), json!({"by": "them"}));
    assert!(matches!(one.patch(&mine, 0, json!({"by": "me"})), Err(AppendError::Conflict(_))));
    one.patch(&mine, 1, json!({"by": "me"})).expect("it commits");
    assert_eq!(theirs.record(&session()).expect("readable").state.to_json(), json!({"by": "me"}));
}

#[test]
fn large_values_are_stored_once_and_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    let mut history = History::new("r");
    history.start(&store);
    let large: String = (0..200_000).map(|n| char::from(b'a' + (n * 7 % 26) as u8)).collect();
    let tricky = json!({"$payload": "mine", "deep": {"$wrapped": {"$payload": 1}}, "large": large});
    let before = store.stats().expect("readable");
    for _ in 0..20 {
        let event = history.event(Some("root"), EventKind::BlockInput { input: Recorded::Value(tricky.clone()) });
        history.append(&store, vec![event]).expect("it commits");
    }
    let stats = store.stats().expect("readable");
    assert!(stats.unique_payload_bytes - before.unique_payload_bytes < 220_000, "{stats:?}");
    assert!(stats.payload_bytes > 20 * 200_000, "{stats:?}");
    let events = store.events("r", &EventQuery { from: Some(2), ..EventQuery::default() }).expect("readable");
    assert_eq!(events.len(), 20);
    for event in events {
        assert_eq!(event.kind, EventKind::BlockInput { input: Recorded::Value(tricky.clone()) });
    }
}

#[test]
fn an_event_costs_few_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    let mut history = History::new("r");
    history.start(&store);
    let count = 5_000;
    for n in 0..count {
        let path = format!("root/step:worker~{n}");
        let events = vec![history.event(Some(&path), block_started()), history.event(Some(&path), finished(Vec::new()))];
        drop(store.append("r", events, Durability::Soon));
    }
    let end = history.event(None, ended());
    history.append(&store, vec![end]).expect("it commits");
    drop(store);
    let store = open(&folder.path().join("f.db"));
    let stats = store.stats().expect("readable");
    assert_eq!(stats.events, 2 * count + 2);
    let overhead = (stats.bytes - stats.unique_payload_bytes.min(stats.bytes)) / stats.events;
    assert!(overhead < 600, "{overhead} bytes an event beside its payload; {stats:?}");
}

#[test]
fn lists_are_newest_first_and_paged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("f.db"));
    for n in 0..5 {
        let mut history = History::new(&format!("r{n}"));
        history.start(&store);
        let end = history.event(None, ended());
        history.append(&store, vec![end]).expect("it commits");
    }
    let page = RequestQuery { limit: Some(2), offset: Some(1), ..RequestQuery::default() };
    let ids: Vec<_> = store.requests(&page).expect("readable").into_iter().map(|row| row.id).collect();
    assert_eq!(ids, ["r3", "r2"]);
    let sessions = store.sessions(&SessionQuery::default()).expect("readable");
    assert_eq!((sessions.len(), sessions[0].requests), (1, 5));
    let none = SessionQuery { search: Some("nobody".to_owned()), ..SessionQuery::default() };
    assert!(store.sessions(&none).expect("readable").is_empty());
}

/// A full disk: the step is refused in words, the thread lives, and works again when there is room.
#[test]
fn a_full_disk_is_reported_and_survived() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("f.db");
    let store = open(&file);
    let mut history = History::new("r");
    history.start(&store);
    store.limit_pages(Some(40));
    let noise: Value = (0..400_000_u64).map(|n| (n * 2_654_435_761 % 4_294_967_296).to_string()).collect::<Vec<_>>().concat().into();
    let event = history.event(Some("root"), EventKind::BlockInput { input: Recorded::Value(noise) });
    let error = history.append(&store, vec![event.clone()]).expect_err("no room");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    store.limit_pages(None);
    history.append(&store, vec![event]).expect("there is room again");
}
