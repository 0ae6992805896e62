//! Migrates a database of format 5: counts are computed again, and the old file is kept.

use std::fs;
use std::path::{Path, PathBuf};

use engine::event::{EventKind, Outcome};
use engine::item::{ItemStatus, NewItem};
use rusqlite::Connection;
use store::{Options, Store};

use crate::support::{Request, WITHOUT_LISTS, block_finished, block_started, open_in, wait_for_filters};

/// The database that the tests of the program have, in a folder of its own.
fn older(folder: &Path) -> PathBuf {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/flows/older/format-5.db");
    let path = folder.join("log.db");
    fs::copy(fixture, &path).unwrap();
    path
}

fn format_of(path: &Path) -> u32 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap()
}

/// The lines of events became longer, and the weight of a large value depends on its line.
#[test]
fn the_weights_of_large_values_are_counted_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = older(folder.path());
    let old = Connection::open(&path).unwrap();
    let large: String = old
        .query_row("SELECT json_extract(body, '$.output') FROM event WHERE body LIKE '%$payload%' LIMIT 1", (), |row| {
            row.get(0)
        })
        .unwrap();
    let changed = old
        .execute(
            "UPDATE event SET body = json_set(body, '$.input', json(?1)) WHERE kind = 'request_started' AND request =
                 (SELECT n FROM request WHERE id = 'done')",
            (&large,),
        )
        .unwrap();
    assert_eq!((changed, large.contains("$payload")), (1, true), "{large}");
    drop(old);
    let store = Store::open(&path, Options::default()).unwrap();
    let problems = store.check().unwrap().problems;
    assert!(problems.iter().all(|problem| !problem.what.contains("total")), "{problems:?}");
}

/// The second process must not replace the copy of the old file by a copy of the migrated file.
#[test]
fn the_old_file_is_kept_if_several_processes_migrate_at_once() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let path = older(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| Store::open(&path, Options::default()).unwrap().stats().unwrap());
            }
        });
        assert_eq!(format_of(&path), 14);
        assert_eq!(format_of(&folder.path().join("log.db.format-5")), 5);
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
            .collect();
        names.sort();
        assert_eq!(names, ["log.db", "log.db.format-5"]);
    }
}

/// A page that an older version wrote for the same events has other bytes, and must not be reported as damaged.
#[test]
fn pages_with_fewer_details_of_failures_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder);
    let mut request = Request::begin(&store, "r");
    request.commit_at("root", 0, block_started("chain"));
    let told = NewItem {
        item_type: "step_error".to_owned(),
        status: ItemStatus::Completed,
        key: None,
        transient: false,
        agent_type: None,
        agent_name: None,
        item_visibility: None,
        owned_by: None,
        payload: Default::default(),
    };
    request.commit_at("root", 0, EventKind::ItemAdded { item: told });
    request.commit_at("root", 0, block_finished(Outcome::Completed, None));
    request.finish();
    wait_for_filters(&store);
    let path = store.path().to_owned();
    drop(store);
    let old = Connection::open(&path).unwrap();
    assert_eq!(old.execute("UPDATE span_page SET body = zeroblob(8)", ()).unwrap(), 1);
    old.execute_batch(
        "ALTER TABLE event RENAME COLUMN body_checksum TO sum; DROP TABLE expectation;
         DROP TABLE experiment; DROP TABLE sample; PRAGMA user_version = 7",
    )
    .and_then(|()| old.execute_batch(WITHOUT_LISTS))
    .unwrap();
    drop(old);
    let store = open_in(&folder);
    assert_eq!(format_of(&path), 14);
    let problems = store.check().unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}
