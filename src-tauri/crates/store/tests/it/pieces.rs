//! Long work keeps nobody from writing, is never seen half done, and can be killed anywhere.
//!
//! The tests run themselves again as children that are killed in their middle.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::event::{EventKind, ForkedFrom, Recorded, RequestStatus};
use engine::log::{AppendMode, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::json;
use store::{Cleared, Liveness, Options, Owners, SearchQuery, Store};

use crate::support::*;

fn user() -> ScopeKey {
    ScopeKey::new(ScopeKind::User, "ada")
}

fn open(path: &Path) -> Store {
    // Whoever was killed runs nothing any more.
    Store::open(path, Options { create: true, owners: Owners::new(|_| Liveness::Dead), ..Options::default() }).unwrap()
}

/// A request of about so many events with values small and large, writes to its user and its session, a state of
/// its own, and notes.
fn request(store: &Store, id: &str, session: &str, events: u64) {
    let mut chance = Chance(id.bytes().map(u64::from).sum());
    let mut request = Request::begin_in(store, id, session);
    let own = ScopeKey::new(ScopeKind::Sequencer, format!("{id}:root:0"));
    let shared = ScopeKey::new(ScopeKind::Session, session);
    for n in 0..events / 20 {
        let mut kinds: Vec<EventKind> = (0..12).map(|part| note(format!("{id} says {n} {part}"))).collect();
        kinds.push(changed(&own, push("list", json!(chance.noise(60))), n + 1));
        kinds.push(EventKind::JournalAppended { entry: json!({ "n": n }) });
        kinds.push(EventKind::BlockInput { input: Recorded::Value(json!(chance.noise(3_000))) });
        kinds.push(EventKind::BlockInput { input: Recorded::Value(json!("shared ".repeat(500 + n as usize % 3))) });
        request.append(kinds, AppendMode::Committed).unwrap();
        for scope in [&user(), &shared] {
            let version = store.record(scope).unwrap().version;
            request.write(scope, version, &[push("seen", json!(chance.noise(30)))]).unwrap();
        }
    }
    request.finish();
}

/// Takes the write lock every few milliseconds until told to stop, and answers how often it was given it before that.
fn knock(path: &Path, stop: &AtomicBool) -> u32 {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        connection.execute_batch("BEGIN IMMEDIATE; UPDATE total SET items = items; COMMIT").unwrap();
        written += u32::from(!stop.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(10));
    }
    written
}

/// Does something while another writes and a third looks whether all is well.
fn beside<T>(path: &Path, what: &str, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let knocking = scope.spawn(|| knock(path, &stop));
        let looking = scope.spawn(|| {
            let store = open(path);
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) || looks == 0 {
                assert_eq!(store.check().unwrap().problems, Vec::new(), "during {what}");
                let seen = SearchQuery { text: "says 3 ".to_owned(), ..SearchQuery::default() };
                let found = store.search(&seen).unwrap();
                assert!(found.iter().all(|hit| store.request(&hit.request).unwrap().is_some()) || looks > 0);
                store.stats().unwrap();
                looks += 1;
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let written = knocking.join().unwrap();
        looking.join().unwrap();
        // Once before it began and once after its first transaction say little; whoever wrote more often was let in
        // between two.
        assert!(written > 2, "another wrote {written} times during {what}");
        done
    })
}

/// What can be counted; bytes that are stored once are looked at by `check`, for an import leaves keyframes behind.
fn counts(store: &Store) -> [u64; 4] {
    let stats = store.stats().unwrap();
    [stats.events, stats.items, stats.requests, stats.payload_bytes]
}

#[test]
fn others_write_during_a_delete_an_import_and_a_compact() {
    let (here, there) = (bed(), bed());
    for (id, session) in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")] {
        request(&here.store, id, session, 4_000);
    }
    request(&there.store, "t", "theirs", 400);
    let (before, seen) = (counts(&there), there.record(&user()).unwrap());
    let bundle = here.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap();
    let path = there.store.path().to_owned();
    beside(&path, "an import", || there.import(bundle.clone()).unwrap());
    assert_eq!(there.check().unwrap().problems, Vec::new());
    assert_eq!(there.record(&user()).unwrap(), seen, "what was here is in force");
    assert_eq!(there.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap(), bundle, "it is what it was");
    let Cleared::Done(deleted) = beside(&path, "a delete", || there.delete_session("a").unwrap()) else {
        panic!("it is deleted")
    };
    assert_eq!(deleted.requests, 2);
    assert_eq!(counts(&there), before);
    assert_eq!(there.record(&user()).unwrap(), seen);
    let Cleared::Done(compacted) = beside(&path, "a compact", || there.compact().unwrap()) else {
        panic!("it is compacted")
    };
    assert!(compacted.after * 2 < compacted.before, "{compacted:?}");
    assert_eq!(counts(&there), before);
    assert_eq!(there.check().unwrap().problems, Vec::new());
    // The same requests, a second time, under numbers that were used.
    there.import(bundle.clone()).unwrap();
    assert_eq!(there.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap(), bundle);
    assert_eq!(there.check().unwrap().problems, Vec::new());
}

#[test]
fn what_runs_goes_on_during_a_delete_and_an_import() {
    let (here, there) = (bed(), bed());
    request(&here.store, "a1", "a", 2_000);
    request(&there.store, "gone", "gone", 2_000);
    let bundle = here.bundle(&["a1".to_owned()]).unwrap();
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            // A user who begins only now is also in the bundle; a project has been there before.
            let store = open_in(&there.folder);
            let mut request = Request::begin_in(&store, "running", "running");
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) {
                let version = store.record(&user()).unwrap().version;
                match request.write(&user(), version, &[push("mine", json!(written))]) {
                    Ok(()) => written += 1,
                    Err(error) => panic!("{error:?}"),
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            written
        });
        std::thread::sleep(Duration::from_millis(20));
        there.import(bundle.clone()).unwrap();
        assert!(matches!(open(there.store.path()).delete_session("gone").unwrap(), Cleared::Done(_)));
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(written > 10, "{written}");
    let now = there.record(&user()).unwrap().state.to_json();
    assert_eq!(now["mine"], json!((0..written).collect::<Vec<i32>>()));
    assert_eq!(now["seen"].as_array().map(Vec::len), Some(100));
    assert_eq!(there.bundle(&["a1".to_owned()]).unwrap(), bundle);
    assert_eq!(there.check().unwrap().problems, Vec::new());
}

#[test]
fn a_user_who_begins_during_an_import_begins_with_nothing() {
    for _ in 0..5 {
        let (here, there) = (bed(), bed());
        request(&here.store, "a1", "a", 1_500);
        let bundle = here.bundle(&["a1".to_owned()]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| there.import(bundle.clone()).unwrap());
            std::thread::sleep(Duration::from_millis(60));
            let mut request = Request::begin_in(&there, "running", "running");
            for n in 0..3 {
                let version = there.record(&user()).unwrap().version;
                // The import may come into force between the look and the write.
                let _ = request.write(&user(), version, &[push("mine", json!(n))]);
            }
        });
        assert_eq!(there.bundle(&["a1".to_owned()]).unwrap(), bundle);
        assert_eq!(there.check().unwrap().problems, Vec::new());
    }
}

const FILE: &str = "STORE_PIECES_FILE";
const WORK: &str = "STORE_PIECES_WORK";

/// Works until it is killed, if it is the child.
#[test]
fn child() {
    let (Ok(file), Ok(work)) = (std::env::var(FILE), std::env::var(WORK)) else { return };
    let store = open(Path::new(&file));
    match work.split_once(' ') {
        Some(("delete", session)) => drop(store.delete_session(session).unwrap()),
        Some(("import", from)) => {
            let from = open(Path::new(from));
            store.import(from.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap()).unwrap();
        }
        _ => drop(store.compact().unwrap()),
    }
}

/// Runs a child, and kills it a while after it began to write.
fn killed(file: &Path, work: &str, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pieces::child"])
        .env(FILE, file)
        .env(WORK, work)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Not before it is at it; it may also have nothing to do.
    while waiting(file) == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    // It may have ended.
    let _ = child.kill();
    child.wait().unwrap();
}

fn waiting(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM removal", (), |row| row.get(0)).unwrap()
}

#[test]
fn a_kill_anywhere_leaves_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let here = open(&file("here.db"));
    for (id, session) in [("a1", "a"), ("b1", "b"), ("a2", "a")] {
        request(&here, id, session, 1_500);
    }
    let whole = here.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap();
    let first = open(&file("first.db"));
    request(&first, "t", "theirs", 400);
    let (counted, seen) = (counts(&first), first.record(&user()).unwrap());
    drop(first);
    let import = format!("import {}", file("here.db").display());
    let (mut left_behind, mut cut) = (0, 0);
    let path = file("there.db");
    for n in 0..24_u64 {
        if n % 8 == 0 {
            for end in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(file(&format!("there.db{end}")));
            }
            std::fs::copy(file("first.db"), &path).unwrap();
        }
        let work = [&import, "delete a", &import, "compact"][n as usize % 4];
        let pace = if work == import { 60 } else { 10 };
        killed(&path, work, Duration::from_millis(pace * (n * 5 % 13)));
        left_behind += i64::from(waiting(&path) > 0);
        // Whoever looks next, while the rest is removed.
        let store = open(&path);
        assert_eq!(store.check().unwrap().problems, Vec::new(), "try {n}: {work}");
        assert_eq!(store.record(&user()).unwrap(), seen, "try {n}: {work}");
        let is_there = store.session("a").unwrap().is_some();
        cut += i64::from(!is_there);
        assert_eq!(store.request("a1").unwrap().is_some(), is_there);
        assert_eq!(store.request("a2").unwrap().is_some(), is_there);
        if is_there {
            assert_eq!(store.bundle(&["a1".to_owned(), "a2".to_owned()]).unwrap(), whole)
        } else {
            assert_eq!(counts(&store), counted, "try {n}: {work}")
        }
        // The next to compact finds all of the rest.
        drop(store);
        if n % 4 == 3 {
            let store = open(&path);
            store.compact().unwrap();
            assert_eq!(waiting(&path), 0);
            assert_eq!(store.check().unwrap().problems, Vec::new(), "try {n}: {work}");
            if store.session("a").unwrap().is_none() {
                assert_eq!(counts(&store), counted);
            }
        }
    }
    println!("{left_behind} of 24 kills left something behind, {cut} found no session");
    assert!(left_behind > 2, "{left_behind}: the test looks at too little");
    assert!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .all(|file| { !file.file_name().to_string_lossy().contains(".import-") || waiting(&path) > 0 }),
        "no lock is left behind"
    );
}

/// A request that is a fork of `r`, in a session of its own.
fn fork(store: &Store) -> ScopeKey {
    let mut kind = started("fork_1");
    if let EventKind::RequestStarted { forked_from, .. } = &mut kind {
        *forked_from = Some(ForkedFrom { request_id: "r".into(), seq: 1 });
    }
    let copy = ScopeKey::overlay(ScopeKind::User, "ada", "fork_1");
    let resource = ScopeKey::new(ScopeKind::Resource, "user/ada~fork_1/notes");
    wait(store.append("f", &first(), vec![event(1, None, 0, kind)], AppendMode::Committed)).unwrap().unwrap();
    let mut request = Request { store, id: "f".to_owned(), last: 1, lease: first() };
    for scope in [&copy, &resource] {
        request.write(scope, 0, &[push("mine", json!(1)), push("mine", json!(2))]).unwrap();
    }
    request.finish();
    copy
}

#[test]
fn a_fork_takes_its_copies_of_others_with_it() {
    let bed = bed();
    let mut origin = Request::begin(&bed, "r");
    origin.write(&user(), 0, &[push("seen", json!(1))]).unwrap();
    origin.finish();
    let copy = fork(&bed);
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    assert!(bed.record_of(&copy).unwrap().is_some());
    assert!(matches!(bed.delete_session("fork_1").unwrap(), Cleared::Done(_)));
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    let scopes: Vec<String> = {
        let connection = Connection::open(bed.store.path()).unwrap();
        let mut statement = connection.prepare("SELECT kind || ':' || id FROM scope").unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(scopes, ["user:ada"]);
}

/// As the versions before left it: the events are gone, the copies are not.
#[test]
fn copies_that_an_old_version_left_behind_go_with_the_migration() {
    let bed = bed();
    Request::begin(&bed, "r").finish();
    let copy = fork(&bed);
    let path = bed.store.path().to_owned();
    let Bed { folder: _folder, store } = bed;
    drop(store);
    let connection = Connection::open(&path).unwrap();
    let as_of_before = "DELETE FROM event WHERE request = 2; DELETE FROM filter_block WHERE request = 2;
        DELETE FROM request WHERE id = 'f'; DELETE FROM session WHERE id = 'fork_1';
        UPDATE total SET indexed_events = (SELECT count(*) FROM event),
            payload_bytes = payload_bytes / 2, unique_payload_bytes = unique_payload_bytes / 2";
    connection.execute_batch(as_of_before).unwrap();
    let left: i64 = connection.query_row("SELECT count(*) FROM scope", (), |row| row.get(0)).unwrap();
    assert_eq!(left, 2);
    connection.execute_batch(&format!("{WITHOUT_LISTS}; {OLDER}")).unwrap();
    drop(connection);
    let store = open(&path);
    assert!(store.record_of(&copy).unwrap().is_none());
    let problems = store.check().unwrap().problems;
    assert!(problems.iter().all(|problem| !problem.what.contains("fork_1")), "{problems:?}");
    let connection = Connection::open(&path).unwrap();
    let mode: i64 = connection.query_row("PRAGMA auto_vacuum", (), |row| row.get(0)).unwrap();
    assert_eq!(mode, 2, "what is free can be given back a few pages at a time");
}

#[test]
fn an_id_that_is_still_being_removed_can_be_used_again() {
    let bed = bed();
    request(&bed.store, "a1", "a", 400);
    let path = bed.store.path().to_owned();
    // Taken out, and nothing removed yet; owners live, so nobody else deletes.
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "INSERT INTO removal (kind, n) SELECT 'shared', n FROM scope WHERE kind = 'user';
             INSERT INTO removal (kind, n) SELECT 'scope', n FROM scope WHERE kind = 'session';
             INSERT INTO removal (kind, n, name) SELECT 'request', n, id FROM request;
             INSERT INTO removal (kind, n) SELECT 'session', n FROM session;
             DELETE FROM scope WHERE kind = 'session'; DELETE FROM request; DELETE FROM session;
             UPDATE total SET indexed_events = 0, items = 0, payload_bytes = 0,
                 unique_payload_bytes = (SELECT sum(bytes) FROM payload),
                 id_floor = (SELECT max(id) FROM event)",
        )
        .unwrap();
    let seen = bed.record(&user()).unwrap();
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    assert_eq!(bed.record(&ScopeKey::new(ScopeKind::Session, "a")).unwrap().version, 0);
    request(&bed.store, "a1", "a", 100);
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    bed.compact().unwrap();
    assert_eq!(waiting(&path), 0);
    assert_eq!(bed.check().unwrap().problems, Vec::new());
    assert_eq!(bed.record(&user()).unwrap().version, seen.version + 5);
    assert_eq!(bed.record(&ScopeKey::new(ScopeKind::Session, "a")).unwrap().version, 5);
    assert_eq!(bed.stats().unwrap().requests, 1);
}

/// What others wrote between the requests of an export stays in it when their session is deleted.
#[test]
fn an_export_tells_what_a_deleted_session_wrote_in_between() {
    let (bed, there) = (bed(), bed());
    let mut own = Request::begin_in(&bed, "own", "own");
    own.write(&user(), 0, &[push("seen", json!("first"))]).unwrap();
    let mut other = Request::begin_in(&bed, "other", "other");
    other.write(&user(), 1, &[push("seen", json!("other"))]).unwrap();
    other.finish();
    own.write(&user(), 2, &[push("seen", json!("last"))]).unwrap();
    own.finish();
    assert!(matches!(bed.delete_session("other").unwrap(), Cleared::Done(_)));
    there.import(bed.bundle(&["own".to_owned()]).unwrap()).unwrap();
    assert_eq!(there.record(&user()).unwrap().state.to_json(), json!({ "seen": ["first", "other", "last"] }));
    assert_eq!(there.check().unwrap().problems, Vec::new());
}

#[test]
fn a_request_that_goes_on_meanwhile_is_not_deleted() {
    let bed = bed();
    Request::begin(&bed, "r").append(vec![note("on")], AppendMode::Committed).unwrap();
    assert_eq!(bed.delete_session("ses").unwrap(), Cleared::Busy("r".to_owned()));
    let by = Operation::Increment { by: object(json!({ "n": 1 })) };
    let mut request = Request { store: &bed, id: "r".to_owned(), last: 2, lease: first() };
    request.write(&session_scope(), 0, &[by]).unwrap();
    request.commit(finished(RequestStatus::Completed)).unwrap();
    assert!(matches!(bed.delete_session("ses").unwrap(), Cleared::Done(_)));
}

/// How long nobody else may be kept from the write lock.
const HELD: Duration = Duration::from_millis(100);

/// Asks for the write lock again and again until told to stop, and answers for how long it was refused at most.
fn longest_hold(path: &Path, stop: &AtomicBool) -> Duration {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    let (mut longest, mut refused) = (Duration::ZERO, None);
    while !stop.load(Ordering::Relaxed) {
        let asked = Instant::now();
        if connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
            refused = None;
        } else {
            longest = longest.max(asked - *refused.get_or_insert(asked));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    longest
}

/// Does something, and answers how long it held the write lock at once.
fn held(path: &Path, work: impl FnOnce()) -> Duration {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| longest_hold(path, &stop));
        work();
        stop.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    })
}

/// What makes a bundle or a session seen, or unseen, does not grow with how many requests it has.
#[test]
#[cfg_attr(debug_assertions, ignore = "measures what is optimised: `cargo test --release -p store ten_thousand`")]
fn ten_thousand_requests_come_and_go_without_holding_the_lock_for_long() {
    let (here, there) = (bed(), bed());
    let ids: Vec<String> = (0..10_000).map(|n| format!("request_{n}")).collect();
    for id in &ids {
        let mut request = Request::begin(&here, id);
        request.append(vec![note(id.as_str()), finished(RequestStatus::Completed)], AppendMode::Committed).unwrap();
    }
    request(&there.store, "t", "theirs", 400);
    let (path, before) = (there.store.path().to_owned(), counts(&there));
    let bundle = here.bundle(&ids).unwrap();
    // What other work of the machine adds is not there every time.
    let mut found = Vec::new();
    for _ in 0..3 {
        let import = held(&path, || there.import(bundle.clone()).unwrap());
        assert_eq!(there.check().unwrap().problems, Vec::new());
        assert_eq!(there.stats().unwrap().requests, 10_001);
        let delete = held(&path, || assert!(matches!(there.delete_session("ses").unwrap(), Cleared::Done(_))));
        assert_eq!(there.check().unwrap().problems, Vec::new());
        assert_eq!(counts(&there), before);
        println!("the lock was held for {import:?} by an import, {delete:?} by a delete");
        found.push((import, delete));
        if import < HELD && delete < HELD {
            break;
        }
    }
    assert!(found.iter().any(|(import, _)| *import < HELD), "by an import, and by a delete: {found:?}");
    assert!(found.iter().any(|(_, delete)| *delete < HELD), "by an import, and by a delete: {found:?}");
}
