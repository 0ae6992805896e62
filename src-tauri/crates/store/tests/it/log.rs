//! How the store reports its commits. The promises of the log are tested in `promises.rs`.

use std::sync::{Arc, Mutex};

use engine::log::{AppendError, AppendMode};
use serde_json::json;
use store::Committed;

use crate::support::*;

#[test]
fn listeners_are_called_with_the_stored_events() {
    let bed = bed();
    let scope = session_scope();
    let (mut a, mut b) = (Request::begin(&bed, "a"), Request::begin(&bed, "b"));
    a.write(&scope, 0, &[patch(json!({"by": "a"}))]).unwrap();
    let heard: Arc<Mutex<Vec<Committed>>> = Arc::default();
    let listener = heard.clone();
    let id = bed.listen(move |committed| listener.lock().unwrap().push(committed.clone()));
    assert!(matches!(b.write(&scope, 0, &[patch(json!({"by": "b"}))]), Err(AppendError::Conflict(_))));
    b.commit(note("on")).unwrap();
    bed.unlisten(id);
    // The next append returns only after the listeners were called for the previous one.
    b.commit(note("not heard")).unwrap();
    let heard = heard.lock().unwrap();
    let heard: Vec<Vec<&str>> =
        heard.iter().map(|committed| committed.events.iter().map(|event| event.kind.name()).collect()).collect();
    assert_eq!(heard, [vec!["state_changed", "commit_refused"], vec!["noted"]]);
}

#[test]
fn evidence_is_written_even_if_no_append_follows() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.append(vec![note("alone")], AppendMode::Evidence).unwrap();
    let begin = std::time::Instant::now();
    while bed.last_seq("r").unwrap() < 2 {
        assert!(begin.elapsed().as_secs() < 5, "evidence was not written");
        std::thread::yield_now();
    }
}

#[test]
fn a_commit_of_another_process_is_noticed_once() {
    let bed = bed();
    let other = open_in(&bed.folder);
    let mut mine = Request::begin(&bed, "mine");
    assert!(!bed.changed_elsewhere().unwrap());
    Request::begin(&other, "theirs");
    assert!(bed.changed_elsewhere().unwrap());
    assert!(!bed.changed_elsewhere().unwrap());
    mine.commit(note("mine")).unwrap();
    assert!(!bed.changed_elsewhere().unwrap());
}
