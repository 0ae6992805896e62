//! Totals tell of every event, though a step does not count itself: however far a request has come, whoever
//! writes, and whatever is copied or deleted.

use engine::event::{EventKind, ForkedFrom};
use engine::log::{AppendMode, Lease, Log};
use rusqlite::Connection;
use serde_json::json;
use store::{Cleared, Liveness, Options, Owners, SearchQuery, Stats, Store};

use crate::support::*;

/// Events, items, and bytes of values, stored once or not.
fn counts(stats: &Stats) -> [u64; 4] {
    [stats.events, stats.items, stats.payload_bytes, stats.unique_payload_bytes]
}

fn totals(store: &Store) -> [u64; 4] {
    assert_eq!(store.check().unwrap().problems, Vec::new());
    counts(&store.stats().unwrap())
}

fn entry(n: u64) -> EventKind {
    EventKind::JournalAppended { entry: json!({ "n": n }) }
}

/// What so many entries weigh as JSON: `{"n":0}` has seven letters.
fn weight(entries: u64) -> u64 {
    (0..entries).map(|n| 6 + n.to_string().len() as u64).sum()
}

#[test]
fn they_are_right_after_every_event_of_a_request_that_runs() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let begun = counts(&bed.stats().unwrap());
    // Past two ends of a search filter.
    for n in 0..150 {
        request.commit(entry(n)).unwrap();
        let bytes = begun[2] + weight(n + 1);
        assert_eq!(counts(&bed.stats().unwrap()), [n + 2, 0, bytes, bytes], "after entry {n}");
    }
    let before = totals(&bed);
    request.finish();
    let after = totals(&bed);
    assert_eq!(after[0], before[0] + 1);
}

#[test]
fn large_values_are_counted_where_they_are_stored() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let begun = counts(&bed.stats().unwrap());
    let large = json!({ "text": "x".repeat(9_000) });
    for times in 1..=3 {
        request.commit(EventKind::JournalAppended { entry: large.clone() }).unwrap();
        let now = totals(&bed);
        assert_eq!(now[2] - begun[2], times * 9_011);
        assert!((9_011..9_011 + 1_000).contains(&(now[3] - begun[3])), "{now:?} since {begun:?}");
    }
}

#[test]
fn two_writers_by_turns_count_together() {
    let bed = bed();
    let other = open_in(&bed.folder);
    let (mut here, mut there) = (Request::begin_in(&bed, "here", "a"), Request::begin_in(&other, "there", "b"));
    for n in 0..100 {
        here.commit(entry(n)).unwrap();
        if n % 3 == 0 {
            there.commit(entry(n)).unwrap();
        }
    }
    assert_eq!(totals(&bed)[0], 2 + 100 + 34);
    here.finish();
    assert_eq!(totals(&other), totals(&bed));
    // Whoever takes up what another left counts on from there.
    let mut taken = Request { store: &bed, id: "there".to_owned(), last: there.last, lease: there.lease.clone() };
    (0..70).for_each(|n| taken.commit(entry(n)).unwrap());
    assert_eq!(totals(&other)[0], 2 + 100 + 34 + 1 + 70);
}

#[test]
fn a_fork_counts_what_it_has_in_common_with_another() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    (0..90).for_each(|n| request.commit(entry(n)).unwrap());
    let before = totals(&bed);
    for (name, seq) in [("early", 3), ("late", 80)] {
        let mut kind = started("fork");
        if let EventKind::RequestStarted { forked_from, .. } = &mut kind {
            *forked_from = Some(ForkedFrom { request_id: "r".into(), seq });
        }
        wait(bed.append(name, &first(), vec![event(1, None, 0, kind)], AppendMode::Committed)).unwrap().unwrap();
    }
    let after = totals(&bed);
    assert_eq!(after[0], before[0] + 3 + 80);
}

#[test]
fn a_session_takes_all_it_counted_with_it() {
    let bed = bed();
    let path = bed.store.path().to_owned();
    let empty = totals(&bed);
    let mut request = Request::begin(&bed, "r");
    (0..70).for_each(|n| request.commit(entry(n)).unwrap());
    // Its process is gone: nobody will cover its last events.
    let options = Options { owners: Owners::new(|_| Liveness::Dead), ..Options::default() };
    let later = Store::open(&path, options).unwrap();
    let Cleared::Done(deleted) = later.delete_session("ses").unwrap() else { panic!("it is deleted") };
    assert_eq!((deleted.requests, deleted.events), (1, 71));
    assert_eq!(totals(&later), empty);
}

#[test]
fn what_a_full_disk_refused_is_counted_when_it_is_kept() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    (0..60).for_each(|n| request.commit(entry(n)).unwrap());
    let before = totals(&bed);
    bed.limit_pages(Some(1));
    // The filter ends within this one, and nothing of it stays.
    let many: Vec<EventKind> = (0..900).map(entry).collect();
    request.append(many.clone(), AppendMode::Committed).unwrap_err();
    assert_eq!(totals(&bed), before);
    bed.limit_pages(None);
    request.last = 61;
    request.append(many, AppendMode::Committed).unwrap();
    assert_eq!(totals(&bed)[0], 961);
}

#[test]
fn a_copy_in_another_database_counts_the_same() {
    let here = bed();
    for (name, many) in [("short", 10), ("long", 200)] {
        let mut request = Request::begin_in(&here, name, name);
        (0..many).for_each(|n| request.commit(entry(n)).unwrap());
        request.finish();
    }
    let there = bed();
    there.import(here.bundle(&["short".to_owned(), "long".to_owned()]).unwrap()).unwrap();
    assert_eq!(totals(&there), totals(&here));
}

/// Makes a database one of the format in which totals had every event at once, and opens it again.
fn reopened_as_of_before(bed: Bed, damage: &str) -> (tempfile::TempDir, Store) {
    let (all, Bed { folder, store }) = (counts(&bed.stats().unwrap()), bed);
    let path = store.path().to_owned();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("{WITHOUT_LISTS}; {OLDER}")).unwrap();
    connection.execute_batch(damage).unwrap();
    connection.execute_batch("ALTER TABLE total RENAME COLUMN covered TO events").unwrap();
    let sql = "UPDATE total SET events = ?1, items = ?2, payload_bytes = ?3, unique_payload_bytes = ?4";
    connection.execute(sql, all).unwrap();
    connection.pragma_update(None, "user_version", 4).unwrap();
    drop(connection);
    let store = Store::open(&path, Options::default()).unwrap();
    (folder, store)
}

fn hits(store: &Store, text: &str) -> Vec<u64> {
    let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
    store.search(&query).unwrap().iter().map(|hit| hit.seq).collect()
}

#[test]
fn a_database_that_counted_every_step_is_taken_over() {
    // Its filters as they are, and without any, as they were before there were any.
    for damage in ["", "DELETE FROM digest; UPDATE request SET tail = 1"] {
        let bed = bed();
        let mut request = Request::begin(&bed, "r");
        (0..150).for_each(|n| request.commit(note(format!("word {n}."))).unwrap());
        let before = totals(&bed);
        let (_folder, store) = reopened_as_of_before(bed, damage);
        assert_eq!(totals(&store), before);
        assert_eq!(hits(&store, "word 149."), [151]);
        // A migration gives owners the name that they have today.
        let row = store.request("r").unwrap().unwrap();
        let lease = Lease { owner: row.owner.into(), epoch: row.epoch };
        let mut request = Request { store: &store, id: "r".to_owned(), last: 151, lease };
        (0..70).for_each(|n| request.commit(entry(n)).unwrap());
        assert_eq!(totals(&store)[0], before[0] + 70);
    }
}

#[test]
fn a_line_that_cannot_be_read_keeps_nobody_from_the_rest() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    (0..40).for_each(|n| request.commit(note(format!("word {n}."))).unwrap());
    let (_folder, store) = reopened_as_of_before(bed, "UPDATE event SET body = '{' WHERE seq = 20");
    assert_eq!(hits(&store, "word 39."), [41]);
    let problems = store.check().unwrap().problems;
    assert_eq!(problems.first().map(|problem| problem.seq), Some(Some(20)), "{problems:?}");
    assert_eq!(store.stats().unwrap().events, 41);
}

#[test]
fn a_writer_of_before_cannot_go_on_once_its_database_is_taken_over() {
    let bed = bed();
    Request::begin(&bed, "r").finish();
    let connection = Connection::open(bed.store.path()).unwrap();
    let error = connection.execute("UPDATE total SET events = events + 1", ()).unwrap_err();
    assert!(error.to_string().contains("no such column"), "{error}");
}
