//! The expectations of requests are stored beside their logs, and are deleted with them.

use engine::event::RequestStatus;
use serde_json::json;

use crate::support::{Request, bed, finished};

#[test]
fn an_expectation_is_stored_replaced_and_removed() {
    let bed = bed();
    let mut request = Request::begin(&bed.store, "r");
    request.commit(finished(RequestStatus::Completed)).unwrap();
    assert_eq!(bed.store.expectation("r").unwrap(), None);
    let first = json!({ "root": [{ "output": 1 }], "root/step:gone": null });
    assert!(bed.store.expect("r", 5, Some(&first)).unwrap());
    assert_eq!(bed.store.expectation("r").unwrap(), Some(first));
    assert_eq!(bed.store.expected().unwrap(), [("r".to_owned(), 5)]);
    assert!(bed.store.expect("r", 6, Some(&json!({}))).unwrap());
    assert_eq!(bed.store.expectation("r").unwrap(), Some(json!({})));
    assert!(bed.store.expect("r", 7, None).unwrap());
    assert_eq!((bed.store.expectation("r").unwrap(), bed.store.expected().unwrap()), (None, Vec::new()));
    assert!(!bed.store.expect("nobody", 8, Some(&json!({}))).unwrap(), "there is no such request");
    assert!(bed.store.check().unwrap().problems.is_empty());
}

#[test]
fn an_expectation_is_deleted_with_its_session() {
    let bed = bed();
    for (id, session) in [("gone", "one"), ("stays", "two")] {
        let mut request = Request::begin_in(&bed.store, id, session);
        request.commit(finished(RequestStatus::Completed)).unwrap();
        bed.store.expect(id, 1, Some(&json!({ "root": null }))).unwrap();
    }
    bed.store.delete_session("one").unwrap();
    assert_eq!(bed.store.expected().unwrap(), [("stays".to_owned(), 1)]);
    let path = bed.store.path().to_owned();
    let rows = |path: &std::path::Path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.query_row("SELECT count(*) FROM expectation", (), |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(rows(&path), 1, "nothing is left of it");
}

/// If the disk is full, the old expectation stays.
#[test]
fn an_expectation_that_cannot_be_written_changes_nothing() {
    let bed = bed();
    let mut request = Request::begin(&bed.store, "r");
    request.commit(finished(RequestStatus::Completed)).unwrap();
    let before = json!({ "root": [{ "output": 1 }] });
    bed.store.expect("r", 1, Some(&before)).unwrap();
    bed.store.limit_pages(Some(1));
    let long = json!({ "root": [{ "output": "x".repeat(4_000_000) }] });
    let error = bed.store.expect("r", 2, Some(&long)).unwrap_err();
    assert!(error.is_of_disk(), "{error}");
    let said = error.to_string();
    assert!(said.starts_with(&bed.store.path().display().to_string()), "it names the file: {said}");
    assert!(said.contains("the disk is full: free space on it"), "it says why, and what helps: {said}");
    assert_eq!(bed.store.expectation("r").unwrap(), Some(before.clone()));
    bed.store.limit_pages(None);
    assert!(bed.store.expect("r", 3, Some(&long)).unwrap());
}

/// The code that a request ran is known without reading its log, and whether it ran only that code.
#[test]
fn the_code_that_a_request_ran_is_known() {
    let bed = bed();
    let mut request = Request::begin(&bed.store, "r");
    request.commit(finished(RequestStatus::Completed)).unwrap();
    let ran = bed.store.ran_code().unwrap();
    assert!(ran["r"].is_whole && !ran["r"].hash.is_empty(), "{ran:?}");
    assert_eq!(ran.len(), 1);
}
