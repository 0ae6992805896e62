//! The structure of a request is the same from its pages, from its events, and read piece by piece.

use engine::event::{BlockKind, EventKind, Outcome, Recorded};
use engine::log::AppendMode;
use engine::views::Events;
use engine::views::blocks::{BlockStatus, blocks};
use engine::views::spans::Spans;
use rusqlite::Connection;
use serde_json::json;
use store::{EventQuery, Store};

use crate::support::*;

fn begun(parent: Option<&str>) -> EventKind {
    EventKind::BlockStarted {
        name: "work".into(),
        block: BlockKind::Handler,
        parent: parent.map(Into::into),
        input: Recorded::Value(json!({ "n": 1 })),
        versions: Vec::new(),
        fingerprint: None,
        replaces_failed: false,
    }
}

fn ended(outcome: Outcome) -> EventKind {
    EventKind::BlockFinished {
        outcome,
        output: None,
        error: None,
        caught: None,
        transient: false,
        memoized: false,
        returned_error: false,
        timed_out_ms: None,
        commits: Vec::new(),
    }
}

/// A loop of `turns` under one root, whose third turn runs twice and whose last has not ended.
fn looped<'a>(store: &'a Store, id: &str, turns: u32) -> Request<'a> {
    let mut request = Request::begin(store, id);
    request.commit_at("root", 0, begun(None));
    for turn in 0..turns {
        let path = format!("root/turn[{turn}]");
        let mut events = vec![(Some(&*path), 0, begun(Some("root:0")))];
        if turn == 2 {
            events.push((Some(&*path), 0, ended(Outcome::Abandoned)));
            events.push((Some(&*path), 1, begun(Some("root:0"))));
            events.push((Some(&*path), 1, note("again")));
        }
        if turn + 1 < turns {
            events.push((Some(&*path), u32::from(turn == 2), ended(Outcome::Completed)));
        }
        request.append_at(events, AppendMode::Committed).unwrap();
    }
    request
}

/// What [`blocks`] and the spans both know of each execution.
type Row = (String, u32, Option<String>, BlockStatus, i64, Option<i64>, u64, u64, u32, u32);

fn rows_of_spans(store: &Store, spans: &Spans, is_live: bool) -> Vec<Row> {
    let text = |number| store.path_texts(&[number]).unwrap()[0].to_string();
    let row = |(index, span): (u32, &engine::views::spans::Span)| -> Row {
        let parent = span.parent().map(|parent| spans.get(parent));
        (
            text(span.path),
            span.attempt,
            parent.map(|parent| format!("{}:{}", text(parent.path), parent.attempt)),
            spans.status(index, is_live),
            span.started_at,
            span.finished_at(),
            span.seq_start,
            span.seq_end,
            spans.changes(index, is_live),
            span.items,
        )
    };
    (0..).zip(spans.iter()).map(row).collect()
}

fn rows_of_blocks(store: &Store, request: &str, is_live: bool) -> Vec<Row> {
    let events = store.events(request, &EventQuery::default()).unwrap();
    let blocks = blocks(Events::new(&events), is_live);
    let row = |block: engine::views::blocks::BlockView<'_>| -> Row {
        (
            block.path.to_string(),
            block.attempt,
            block.parent.map(|parent| parent.to_string()),
            block.status,
            block.started_at,
            block.finished_at,
            block.seq_start,
            block.seq_end.unwrap_or(0),
            block.changes,
            block.items,
        )
    };
    blocks.into_iter().map(row).collect()
}

fn spans_of(store: &Store, request: &str) -> Spans {
    let mut spans = Spans::default();
    store.extend_spans(request, &mut spans).unwrap();
    spans
}

#[test]
fn pages_and_events_say_the_same() {
    let bed = bed();
    let mut request = looped(&bed, "r1", 200);
    let mut read_along = spans_of(&bed, "r1");
    assert_eq!(rows_of_spans(&bed, &read_along, true), rows_of_blocks(&bed, "r1", true), "some of it has pages");
    request.commit_at("root/turn[199]", 0, ended(Outcome::Failed));
    request.commit_at("root", 0, ended(Outcome::Failed));
    request.finish();
    wait_for_filters(&bed.store);
    let expected = rows_of_blocks(&bed, "r1", false);
    assert_eq!(expected.len(), 202);
    assert_eq!(rows_of_spans(&bed, &spans_of(&bed, "r1"), false), expected, "all of it has pages");
    bed.extend_spans("r1", &mut read_along).unwrap();
    assert_eq!(rows_of_spans(&bed, &read_along, false), expected, "read piece by piece");
    assert_eq!(read_along.last(), request.last);
    // A page that is damaged or gone is made from its events again.
    let connection = Connection::open(bed.store.path()).unwrap();
    connection.execute("UPDATE span_page SET body = x'ff' WHERE first = 65", ()).unwrap();
    connection.execute("DELETE FROM span_page WHERE first = 129", ()).unwrap();
    assert_eq!(rows_of_spans(&bed, &spans_of(&bed, "r1"), false), expected, "two pages are damaged");
    // So is one whose bytes can still be read, of other events or as another tree: whichever byte it is.
    let body: Vec<u8> =
        connection.query_row("SELECT body FROM span_page WHERE first = 193", (), |row| row.get(0)).unwrap();
    for at in 0..body.len() {
        let mut other = body.clone();
        other[at] ^= 1;
        connection.execute("UPDATE span_page SET body = ?1 WHERE first = 193", (&other,)).unwrap();
        assert_eq!(rows_of_spans(&bed, &spans_of(&bed, "r1"), false), expected, "byte {at} is another");
    }
    connection.execute("UPDATE span_page SET body = ?1 WHERE first = 193", (&body,)).unwrap();
    connection.execute("UPDATE span_page SET last = last + 64 WHERE first = 193", ()).unwrap();
    assert_eq!(rows_of_spans(&bed, &spans_of(&bed, "r1"), false), expected, "it says that it covers the next page");
    // Pages of before there were checksums are read as they are.
    let without = &body[..body.len() - 4];
    connection.execute("UPDATE span_page SET last = last - 64, body = ?1 WHERE first = 193", (without,)).unwrap();
    assert_eq!(rows_of_spans(&bed, &spans_of(&bed, "r1"), false), expected);
    assert!(spans_of(&bed, "nowhere").is_empty());
}

#[test]
fn a_long_request_says_the_same_read_by_two_threads() {
    let bed = bed();
    let mut request = looped(&bed, "r1", 3_000);
    request.commit_at("root/turn[2999]", 0, ended(Outcome::Failed));
    request.commit_at("root", 0, ended(Outcome::Completed));
    request.finish();
    wait_for_filters(&bed.store);
    assert!(request.last > 6_000, "long enough for a second thread: {}", request.last);
    let expected = rows_of_blocks(&bed, "r1", false);
    let all = spans_of(&bed, "r1");
    assert_eq!(rows_of_spans(&bed, &all, false), expected, "all of it has pages");
    // The second thread gets to know events that have no page in their place among the others.
    let connection = Connection::open(bed.store.path()).unwrap();
    let damaged = connection.execute("UPDATE span_page SET body = x'ff' WHERE first = 641", ()).unwrap();
    let missing = connection.execute("DELETE FROM span_page WHERE first = 3201", ()).unwrap();
    assert_eq!((damaged, missing), (1, 1));
    let again = spans_of(&bed, "r1");
    assert_eq!(rows_of_spans(&bed, &again, false), expected, "two pages are damaged");
    assert_eq!((again.last(), again.len()), (all.last(), all.len()));
}

#[test]
fn the_events_of_a_path_are_found_by_its_list() {
    let bed = bed();
    let mut request = looped(&bed, "r1", 100);
    let own = |path: &str| -> Vec<(u64, u32)> {
        let query = EventQuery { path: Some(path.to_owned()), ..EventQuery::default() };
        bed.events("r1", &query).unwrap().iter().map(|event| (event.seq, event.attempt)).collect()
    };
    let all = bed.events("r1", &EventQuery::default()).unwrap();
    let scanned = |path: &str| -> Vec<(u64, u32)> {
        all.iter().filter(|event| event.path.as_deref() == Some(path)).map(|event| (event.seq, event.attempt)).collect()
    };
    for path in ["root", "root/turn[2]", "root/turn[50]", "root/turn[99]", "root/turn[100]", ""] {
        assert_eq!(own(path), scanned(path), "{path}, while it runs");
    }
    assert_eq!(own("root/turn[2]").len(), 5);
    request.finish();
    wait_for_filters(&bed.store);
    for path in ["root", "root/turn[2]", "root/turn[50]", "root/turn[99]", "root/turn[100]", ""] {
        assert_eq!(own(path), scanned(path), "{path}, when it has ended");
    }
    // A list that is damaged is made from its events again.
    let connection = Connection::open(bed.store.path()).unwrap();
    assert!(connection.execute("UPDATE path_event SET seqs = x'ff' WHERE first = 65", ()).unwrap() > 2);
    for path in ["root", "root/turn[50]", ""] {
        assert_eq!(own(path), scanned(path), "{path}, with damaged lists");
    }
}
