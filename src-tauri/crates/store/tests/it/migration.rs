//! A database of format 5 that is brought up to date: what was counted is counted again, and the old file is kept.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use store::{Options, Store};

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

/// The lines of events are longer than they were, and what a large value weighs depends on its line.
#[test]
fn what_large_values_weigh_is_counted_again() {
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

/// The second one copied what the first had already brought up to date, over the copy of the old file.
#[test]
fn of_several_who_open_it_at_once_all_keep_the_old_file() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let path = older(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| Store::open(&path, Options::default()).unwrap().stats().unwrap());
            }
        });
        assert_eq!(format_of(&path), 8);
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
