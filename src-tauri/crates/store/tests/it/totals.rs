//! Totals tell of every event, though a step does not count itself: however far a request has come, whoever
//! writes, and whatever is copied or deleted.

use engine::event::{EventKind, ForkedFrom};
use engine::log::{Durability, Log};
use rusqlite::Connection;
use serde_json::json;
use store::{Cleared, Options, Owners, SearchQuery, Stats, Store};

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
    let mut taken = Request { store: &bed, id: "there".to_owned(), last: there.last };
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
        wait(bed.append(name, vec![event(1, None, 0, kind)], Durability::Committed)).unwrap().unwrap();
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
    let options = Options { owners: Owners::new(|_| false), ..Options::default() };
    let later = Store::open(&path, options).unwrap();
    let Cleared::Done(deleted) = later.delete_session("ses").unwrap() else { panic!("it is deleted") };
    assert_eq!((deleted.requests, deleted.events), (1, 71));
    assert_eq!(totals(&later), empty);
}

#[test]
fn a_database_that_counted_every_step_is_taken_over() {
    let bed = bed();
    let path = bed.store.path().to_owned();
    let mut request = Request::begin(&bed, "r");
    (0..70).for_each(|n| request.commit(note(format!("word {n}."))).unwrap());
    let before = totals(&bed);
    drop(bed.store);
    let connection = Connection::open(&path).unwrap();
    let sql = "UPDATE total SET events = ?1, items = ?2, payload_bytes = ?3, unique_payload_bytes = ?4";
    connection.execute(sql, before).unwrap();
    connection.pragma_update(None, "user_version", 4).unwrap();
    drop(connection);
    let store = Store::open(&path, Options::default()).unwrap();
    assert_eq!(totals(&store), before);
    let mut request = Request { store: &store, id: "r".to_owned(), last: 71 };
    request.commit(entry(0)).unwrap();
    assert_eq!(totals(&store)[0], before[0] + 1);
    let found = store.search(&SearchQuery { text: "word 69.".to_owned(), ..SearchQuery::default() }).unwrap();
    assert_eq!(found.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [71]);
}
