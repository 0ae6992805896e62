//! Which files open, and that a refused one is not touched.

use std::fs;
use std::path::Path;

use store::{OpenError, Options, Store};

use crate::history::{History, open};

/// Opening must fail, name the reason, and leave every byte as it was.
#[track_caller]
fn refused(file: &Path, part: &str) -> OpenError {
    let before = fs::read(file).expect("readable");
    let error = Store::open(file, Options { create: true, ..Options::default() }).err().expect("it is refused");
    assert!(error.to_string().contains(part), "{error}");
    assert_eq!(fs::read(file).expect("readable"), before, "the file was changed");
    error
}

fn sqlite(file: &Path, sql: &str) {
    rusqlite::Connection::open(file).and_then(|connection| connection.execute_batch(sql)).expect("SQL runs");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.db");
    fs::write(&file, "these are my notes, and nobody else's").expect("writable");
    assert!(matches!(refused(&file, "is not a SQLite database"), OpenError::NotADatabase(_)));
}

#[test]
fn another_programs_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("other.db");
    sqlite(&file, "CREATE TABLE mail (text TEXT); PRAGMA user_version = 7");
    assert!(matches!(refused(&file, "not one of Flowglass"), OpenError::Foreign(_)));
}

#[test]
fn a_newer_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flowglass.db");
    drop(open(&file));
    sqlite(&file, "PRAGMA user_version = 99");
    assert!(matches!(refused(&file, "format 99"), OpenError::Newer { found: 99, .. }));
}

#[test]
fn a_read_only_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flowglass.db");
    drop(open(&file));
    let mut permissions = fs::metadata(&file).expect("there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).expect("ours");
    assert!(matches!(refused(&file, "read-only"), OpenError::ReadOnly(_)));
}

#[test]
fn what_was_answered_is_there_after_reopening() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deep/er/flowglass.db");
    let mut history = History::new("r");
    {
        let store = open(&file);
        history.start(&store);
        history.patch(&store, 0, serde_json::json!({"a": 1})).expect("it commits");
    }
    let store = open(&file);
    let row = store.request("r").expect("readable").expect("it is there");
    assert_eq!((row.last_seq, row.session.as_str(), row.owner.as_str()), (history.last(), "s", "test"));
    assert_eq!(store.events("r", &store::EventQuery::default()).expect("readable").len() as u64, history.last());
}
