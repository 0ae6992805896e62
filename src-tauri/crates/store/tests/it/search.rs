//! Search finds what any process wrote at any time, and reads little to find it.

use engine::event::{EventKind, Outcome, RequestStatus};
use engine::log::AppendMode;
use serde_json::json;
use store::{SearchQuery, Store};

use crate::support::*;

fn hits(store: &Store, text: &str) -> Vec<(String, u64)> {
    let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
    store.search(&query).unwrap().into_iter().map(|hit| (hit.request.to_string(), hit.seq)).collect()
}

fn found(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter().map(|(id, seq)| ((*id).to_owned(), *seq)).collect()
}

fn filters(bed: &Bed) -> Vec<(i64, i64)> {
    let connection = rusqlite::Connection::open(bed.store.path()).unwrap();
    let mut statement = connection.prepare("SELECT first, last FROM filter_block ORDER BY request, first").unwrap();
    statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A request that ended, was left by its process, is taken up again and ends again.
#[test]
fn every_event_is_covered_once_however_often_a_request_goes_on() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    request.append((0..100).map(|n| note(format!("first part {n}."))).collect(), AppendMode::Committed).unwrap();
    wait_for_filters(&bed.store);
    assert_eq!(filters(&bed), [(1, 64)]);
    assert_eq!(hits(&bed, "part 99."), found(&[("r1", 101)]), "not covered yet");
    request.commit(finished(RequestStatus::Failed)).unwrap();
    wait_for_filters(&bed.store);
    assert_eq!(filters(&bed), [(1, 64), (65, 102)]);
    let other = open_later(&bed.folder);
    let mut again = Request { store: &other, id: "r1".to_owned(), last: request.last, lease: request.lease.clone() };
    let resumed = EventKind::RequestResumed {
        owner: "p2".to_owned(),
        epoch: 2,
        code_hash: "c".to_owned(),
        mock: None,
        keeps_ended: false,
    };
    again.append(vec![resumed, note("second part")], AppendMode::Committed).unwrap();
    assert_eq!(hits(&bed, "SECOND part"), found(&[("r1", 104)]));
    // A third process reads again what the second left uncovered.
    let (left, lease) = (again.last, again.lease.clone());
    drop(other);
    let third = open_in(&bed.folder);
    let mut last = Request { store: &third, id: "r1".to_owned(), last: left, lease };
    last.append((0..70).map(|n| note(format!("third part {n}."))).collect(), AppendMode::Committed).unwrap();
    last.finish();
    wait_for_filters(&bed.store);
    assert_eq!(filters(&bed), [(1, 64), (65, 102), (103, 166), (167, 175)]);
    assert_eq!(hits(&bed, "second part"), found(&[("r1", 104)]));
    assert_eq!(hits(&bed, "part 69."), found(&[("r1", 71), ("r1", 174)]));
}

#[test]
fn values_of_any_size_are_found() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    let noise = Chance(1).noise(400_000);
    let list: Vec<_> = (0..3_000).map(|n| json!({ "entry": format!("number {n}") })).collect();
    let mark = json!({ "$payload": "not a payload" });
    for output in [json!({ "noise": noise }), json!(list), mark] {
        request.commit_at("root", 0, block_started("b"));
        request.commit_at("root", 0, block_finished(Outcome::Completed, Some(output)));
    }
    assert_eq!(hits(&bed, &noise[200_000..200_100]), found(&[("r1", 3)]));
    assert_eq!(hits(&bed, "number 1729\""), found(&[("r1", 5)]));
    assert_eq!(hits(&bed, "NOT A payload"), found(&[("r1", 7)]));
    assert_eq!(hits(&bed, "$parts"), found(&[]), "our own marks are no text of a flow");
}

/// A word that came in several deltas is found, although filters are made later and from what is stored, and a block
/// ends between its letters.
#[test]
fn a_word_in_pieces_is_found_across_the_end_of_a_block() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    let item = json!({ "type": "message", "status": "in_progress", "payload": { "role": "assistant" } });
    let item = serde_json::from_value(json!({ "kind": "item_added", "item": item })).unwrap();
    request.commit(item).unwrap();
    let of = request.last;
    // Event 64 ends the first block.
    for (n, letter) in "abcdefghijklmnopqrstuvwxyz".repeat(4).chars().enumerate() {
        request.commit(EventKind::ItemDelta { of, text: letter.to_string() }).unwrap();
        if n % 40 == 39 {
            wait_for_filters(&bed.store);
        }
    }
    wait_for_filters(&bed.store);
    // From event 60 to 68: "fghijklmn".
    assert!(hits(&bed, "fghijklmn").contains(&("r1".to_owned(), 68)));
    assert_eq!(bed.store.check().unwrap().problems, Vec::new());
}

/// The filters were made up to a piece of a word, and the next one comes after more events than a block holds.
#[test]
fn a_word_is_found_whose_pieces_lie_blocks_and_passes_apart() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    let item = json!({ "type": "message", "status": "in_progress", "payload": { "content": [] } });
    request.commit(serde_json::from_value(json!({ "kind": "item_added", "item": item })).unwrap()).unwrap();
    let of = request.last;
    request.commit(EventKind::ItemDelta { of, text: "a sepa".to_owned() }).unwrap();
    request.append((0..200).map(|n| note(format!("other {n}."))).collect(), AppendMode::Committed).unwrap();
    wait_for_filters(&bed.store);
    assert!(filters(&bed).len() >= 3);
    request.commit(EventKind::ItemDelta { of, text: "rator".to_owned() }).unwrap();
    let at = request.last;
    assert_eq!(hits(&bed, "separator"), found(&[("r1", at)]));
    request.append((0..200).map(|n| note(format!("more {n}."))).collect(), AppendMode::Committed).unwrap();
    wait_for_filters(&bed.store);
    assert_eq!(hits(&bed, "separator"), found(&[("r1", at)]));
    assert_eq!(bed.store.check().unwrap().problems, Vec::new());
}

/// A message that an author emits is done, and has a text before it grows.
#[test]
fn a_word_is_found_that_begins_before_the_first_piece() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    let content = |text: &str| json!([{ "type": "output_text", "text": text }]);
    let item = json!({ "type": "message", "status": "completed", "payload": { "content": content("a begin") } });
    request.commit(serde_json::from_value(json!({ "kind": "item_added", "item": item })).unwrap()).unwrap();
    let of = request.last;
    request.commit(EventKind::ItemDelta { of, text: "ning".to_owned() }).unwrap();
    let patch = json!({ "kind": "item_updated", "of": of, "patch": { "content": content("another sta") } });
    request.commit(serde_json::from_value(patch).unwrap()).unwrap();
    request.commit(EventKind::ItemDelta { of, text: "rt".to_owned() }).unwrap();
    let looks = || {
        assert_eq!(hits(&bed, "beginning"), found(&[("r1", of + 1)]));
        assert_eq!(hits(&bed, "another start"), found(&[("r1", of + 3)]));
        assert_eq!(hits(&bed, "beginningrt"), Vec::new());
    };
    looks();
    request.finish();
    wait_for_filters(&bed.store);
    looks();
    assert_eq!(bed.store.check().unwrap().problems, Vec::new());
}

/// A process that ended without indexing what it wrote: search reads the events, and the next process indexes them.
#[test]
fn what_a_killed_process_left_is_found_and_indexed_by_the_next() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r1");
    request.append((0..200).map(|n| note(format!("part {n}."))).collect(), AppendMode::Committed).unwrap();
    request.finish();
    wait_for_filters(&bed.store);
    // As a kill between the commit and the filters leaves it.
    let connection = rusqlite::Connection::open(bed.store.path()).unwrap();
    connection
        .execute_batch(
            "UPDATE total SET indexed_events = 0, items = 0, payload_bytes = 0, unique_payload_bytes = 0;
             DELETE FROM filter_block; DELETE FROM span_page; DELETE FROM path_event;
             UPDATE request SET unindexed_from = 1",
        )
        .unwrap();
    assert_eq!(bed.store.check().unwrap().problems, Vec::new());
    assert_eq!(hits(&bed, "part 150."), found(&[("r1", 152)]));
    let other = open_later(&bed.folder);
    let mut second = Request::begin_in(&other, "r2", "another");
    second.finish();
    // Closing indexes, so a short-lived process leaves nothing behind.
    drop(other);
    assert_eq!(filters(&bed), [(1, 64), (65, 128), (129, 192), (193, 202), (1, 2)]);
    assert_eq!(hits(&bed, "part 150."), found(&[("r1", 152)]));
    assert_eq!(bed.store.check().unwrap().problems, Vec::new());
}

/// What a text's filters let through is all that is read: a text that was added to other events without the filters
/// is found only where all is read.
#[test]
fn a_rare_text_is_looked_for_in_few_of_many_events() {
    let bed = bed();
    let mut chance = Chance(2);
    for n in 0..40 {
        let mut request = Request::begin(&bed, &format!("r{n}"));
        let notes = (0..500).map(|_| note(chance.noise(60))).collect();
        request.append(notes, AppendMode::Committed).unwrap();
        if n == 20 {
            request.commit(note("a needle in a haystack")).unwrap();
        }
        request.finish();
    }
    wait_for_filters(&bed.store);
    let connection = rusqlite::Connection::open(bed.store.path()).unwrap();
    let planted = connection
        .execute(
            "UPDATE event SET body = replace(body, '\"text\":\"', '\"text\":\"~needle in ')
             WHERE kind = 'noted' AND request <> (SELECT n FROM request WHERE id = 'r20')",
            (),
        )
        .unwrap();
    assert_eq!(planted, 39 * 500);
    let found = hits(&bed, "needle in");
    assert!(found.iter().any(|(request, _)| request == "r20"));
    assert!(found.len() < planted / 20, "{} of {planted} are read", found.len());
    assert_eq!(hits(&bed, "~n").len(), planted, "too short for filters: all is read");
}
