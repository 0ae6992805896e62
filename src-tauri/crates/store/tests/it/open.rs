//! Which files the store opens; it leaves all others unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engine::log::{AppendMode as Wait, Log};
use rusqlite::Connection;
use store::{Access, Durability, OpenError, Options, Store};

use crate::support::*;

fn create() -> Options {
    Options { create: true, ..Options::default() }
}

/// The files of a folder, each with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Checks that opening is refused and that nothing in the folder changes.
fn refused(folder: &Path, file: &str) -> OpenError {
    let before = contents(folder);
    let error = Store::open(folder.join(file), create()).map(drop).unwrap_err();
    assert_eq!(contents(folder), before, "{error}");
    error
}

#[test]
fn a_missing_file_is_created_only_if_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/deep/log.db");
    assert!(matches!(Store::open(&path, Options::default()), Err(OpenError::Missing { .. })));
    assert!(!folder.path().join("new").exists());
    drop(Store::open(&path, create()).unwrap());
    drop(Store::open(&path, Options::default()).unwrap());
    // Closing writes the log into the file and deletes the log.
    assert_eq!(contents(path.parent().unwrap()).into_keys().collect::<Vec<_>>(), ["log.db"]);
}

#[test]
fn an_empty_file_that_a_crash_left_is_filled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    fs::write(&path, "").unwrap();
    assert!(matches!(Store::open(&path, Options::default()), Err(OpenError::Missing { .. })));
    drop(Store::open(&path, create()).unwrap());
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |file: &str| folder.path().join(file);
    fs::write(path("text.db"), "not a database, and longer than a header of a hundred bytes: ".repeat(4)).unwrap();
    fs::write(path("short.db"), "x").unwrap();
    fs::write(path("cut.db"), b"SQLite format 3\0 and then nothing").unwrap();
    for file in ["text.db", "short.db", "cut.db"] {
        assert!(matches!(refused(folder.path(), file), OpenError::NotADatabase { .. }), "{file}");
    }
    fs::create_dir(path("folder.db")).unwrap();
    let error = Store::open(path("folder.db"), create()).map(drop).unwrap_err();
    assert!(error.to_string().contains("it is a folder"), "{error}");
}

#[test]
fn a_database_of_another_program_is_refused_with_its_journals_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.db");
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    // Still open, so its log exists.
    assert!(contents(folder.path()).contains_key("foreign.db-wal"));
    assert!(matches!(refused(folder.path(), "foreign.db"), OpenError::Foreign { .. }));
    drop(foreign);
    assert!(matches!(refused(folder.path(), "foreign.db"), OpenError::Foreign { .. }));
}

#[test]
fn a_newer_format_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(Store::open(&path, create()).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 15).unwrap();
    drop(connection);
    let error = refused(folder.path(), "log.db");
    assert!(matches!(error, OpenError::Newer { found: 15, supported: 14, .. }), "{error:?}");
    assert!(error.to_string().contains("format 15, newer than format 14"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(Store::open(&path, create()).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(refused(folder.path(), "log.db"), OpenError::ReadOnly { .. }));
}

#[test]
fn a_database_held_by_another_process_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(Store::open(&path, create()).unwrap());
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let error = Store::open(&path, create()).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
}

#[test]
fn threads_that_create_a_database_at_once_get_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    std::thread::scope(|scope| {
        for n in 0..6 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path, create()).unwrap();
                Request::begin(&store, &format!("r{n}")).finish();
            });
        }
    });
    let store = Store::open(&path, Options::default()).unwrap();
    assert_eq!(store.stats().unwrap().requests, 6);
}

/// While a file is created, its header names more pages than exist. A reader must not report such a file as damaged.
#[test]
fn a_reader_finds_no_database_or_a_complete_one_while_it_is_created() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..40 {
        let path = folder.path().join(format!("{n}.db"));
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                loop {
                    match Store::open(&path, Options { skip_removals: true, ..Options::default() }) {
                        Ok(store) => return store.stats().map(drop).unwrap(),
                        Err(OpenError::Missing { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            drop(Store::open(&path, create()).unwrap());
            looking.join().unwrap();
        });
    }
}

#[test]
fn power_durability_writes_the_same_log() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Power, ..create() };
    let store = Store::open(folder.path().join("log.db"), options).unwrap();
    let mut request = Request::begin(&store, "r");
    request.append(vec![note("a"), note("b")], Wait::Committed).unwrap();
    assert_eq!(store.last_seq("r").unwrap(), 3);
    assert_eq!(store.record(&session_scope()).unwrap().version, 0);
}

/// SQLite does not report that an immutable file changed, or that a missing one was created.
#[test]
fn a_read_only_database_is_outdated_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let read = || Options { access: Access::ReadOnly, ..create() };
    let missing = Store::open(&path, read()).unwrap();
    assert!(!missing.is_outdated() && !path.exists());
    let other = Store::open(&path, create()).unwrap();
    assert!(missing.is_outdated());
    Request::begin(&other, "r1").finish();
    // With a log, SQLite reports changes.
    let beside = Store::open(&path, read()).unwrap();
    beside.changed_elsewhere().unwrap();
    Request::begin(&other, "r2").finish();
    assert!(beside.changed_elsewhere().unwrap() && !beside.is_outdated());
    assert_eq!(beside.stats().unwrap().requests, 2);
    drop((beside, other));

    let alone = Store::open(&path, read()).unwrap();
    assert!(!alone.is_outdated());
    let other = Store::open(&path, create()).unwrap();
    Request::begin(&other, "r3").finish();
    assert!(alone.is_outdated());
    assert!(!other.is_outdated(), "a writable database is read with its log");
    drop(other);
    assert!(alone.is_outdated());
    assert_eq!(Store::open(&path, read()).unwrap().stats().unwrap().requests, 3);
}
