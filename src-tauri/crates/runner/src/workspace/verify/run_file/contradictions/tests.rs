//! Each contradiction is named with what would be right, and nothing that an engine records is one.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::super::{Limits, RunFile};
use crate::run::batch::Cancel;

/// A file of these lines, each with the number of its event, and what is said of it: the line, and the words.
fn said(lines: &[Value]) -> Result<(), (usize, String)> {
    let events = lines.iter().filter(|line| line.get("event").is_some()).count();
    let label = json!({ "action": "go", "events": events, "flow": "f", "flowglass": "run", "format": 1,
        "request": "r", "status": "completed" });
    let text = [label].iter().chain(lines).map(|line| format!("{line}\n")).collect::<String>();
    let mut text = std::io::Cursor::new(text);
    let read = RunFile::parse(&mut text, "x.run".as_ref(), &Limits::default(), &Cancel::default());
    read.map(|read| assert!(read.is_some()))
}

fn event(seq: u64, path: Option<&str>, event: Value) -> Value {
    let mut line = json!({ "at": 5, "event": event, "seq": seq });
    line.as_object_mut().unwrap().extend(path.map(|path| ("path".to_owned(), path.into())));
    line
}

fn begin(seq: u64) -> Value {
    let started = json!({ "kind": "request_started", "flow": "f", "action": "go", "session": "s", "user": "u",
        "codeHash": "c", "input": { "value": 1 }, "owner": "kept" });
    event(seq, None, started)
}

fn block(seq: u64, path: &str) -> Value {
    event(seq, Some(path), json!({ "kind": "block_started", "name": "b", "block": "handler", "input": { "value": 1 } }))
}

fn end(seq: u64) -> Value {
    event(seq, None, json!({ "kind": "request_finished", "status": "completed", "output": { "value": 1 } }))
}

fn sleep(seq: u64, path: &str) -> Value {
    event(seq, Some(path), json!({ "kind": "effect_started", "effect": "sleep", "ordinal": 0 }))
}

fn slept(seq: u64, path: &str, started: u64) -> Value {
    let ended =
        json!({ "kind": "effect_finished", "effect": "sleep", "ordinal": 0, "started": started, "result": null });
    event(seq, Some(path), ended)
}

fn wrote(seq: u64, path: &str, version: u64, operation: Value, value: Option<Value>) -> Value {
    let mut wrote = json!({ "kind": "state_changed", "scope": { "kind": "session", "id": "s" },
        "operation": operation, "version": version });
    wrote.as_object_mut().unwrap().extend(value.map(|value| ("value".to_owned(), value)));
    event(seq, Some(path), wrote)
}

fn plus(seq: u64, version: u64, by: i64, sum: Value) -> Value {
    wrote(seq, "root", version, json!({ "op": "increment", "by": { "n": by } }), Some(json!({ "n": sum })))
}

fn record(state: Value) -> Value {
    json!({ "record": { "id": "s", "kind": "session" }, "state": state, "version": 3 })
}

#[test]
fn what_contradicts_other_lines_is_named() {
    let patch = || json!({ "op": "patch", "fields": { "n": 1 } });
    let increment = || json!({ "op": "increment", "by": { "n": 1 } });
    for (lines, line, what) in [
        // Numbers.
        (vec![begin(1), block(3, "root"), end(4)], 3, "expected event 2 of request \"r\", found event 3"),
        (vec![begin(1), block(2, "root"), end(2)], 4, "expected event 3 of request \"r\", found event 2"),
        (vec![begin(1), end(3), block(2, "root")], 3, "expected event 2 of request \"r\", found event 3"),
        (vec![begin(1), begin(2), end(3)], 3, "a second request_started"),
        // Effects.
        (vec![begin(1), block(2, "root"), slept(3, "root", 9), end(4)], 4, "and this is event 3"),
        (
            vec![begin(1), block(2, "root"), slept(3, "root", 2), end(4)],
            4,
            "must be the seq of an earlier effect_started event of this sleep at root",
        ),
        (
            vec![begin(1), block(2, "root"), block(3, "root/a"), sleep(4, "root/a"), slept(5, "root", 4), end(6)],
            6,
            "the begin of a sleep at root/a",
        ),
        // Blocks.
        (
            vec![begin(1), block(2, "root"), sleep(3, "root/a"), end(4)],
            4,
            "no earlier line starts block root/a: add its block_started",
        ),
        (
            vec![begin(1), block(2, "root"), sleep(3, "root/a"), block(4, "root/a"), end(5)],
            4,
            "no earlier line starts block root/a",
        ),
        // What an operation says of its sums.
        (
            vec![begin(1), block(2, "root"), wrote(3, "root", 1, patch(), Some(json!({ "n": 1 }))), end(4)],
            4,
            "remove \"value\": only an increment has one, and this operation is \"patch\"",
        ),
        (
            vec![begin(1), block(2, "root"), wrote(3, "root", 1, increment(), Some(json!(4))), end(4)],
            4,
            "is an object with the sum of each of its fields",
        ),
        (
            vec![begin(1), block(2, "root"), wrote(3, "root", 1, increment(), Some(json!({ "m": 1 }))), end(4)],
            4,
            "the sum of \"m\", which the increment does not change",
        ),
        (
            vec![begin(1), block(2, "root"), wrote(3, "root", 1, increment(), Some(json!({}))), end(4)],
            4,
            "no sum of \"n\"",
        ),
        (vec![begin(1), block(2, "root"), plus(3, 1, 1, json!("4")), end(4)], 4, "it is a number"),
        (
            vec![record(json!({ "n": 5 })), begin(1), block(2, "root"), plus(3, 4, 2, json!(999)), end(4)],
            5,
            "the sum of \"n\" is 999 in \"value\": it was 5 before, and 2 is added, so it is 7",
        ),
        (
            vec![
                record(json!({})),
                begin(1),
                block(2, "root"),
                plus(3, 4, 2, json!(2)),
                plus(4, 5, 1, json!(2)),
                end(5),
            ],
            6,
            "it was 2 before, and 1 is added, so it is 3",
        ),
    ] {
        let (found, message) = said(&lines).unwrap_err();
        assert!(found == line && message.contains(what), "line {found}: {message}, not line {line}: {what}");
    }
}

#[test]
fn what_an_engine_records_is_taken() {
    let fork = |seq| {
        let mut fork = begin(1);
        fork["event"]["forkedFrom"] = json!({ "requestId": "origin", "seq": seq });
        fork
    };
    let of_origin = |mut line: Value| {
        line["request"] = json!("origin");
        line
    };
    for lines in [
        vec![begin(1), block(2, "root"), sleep(3, "root"), slept(4, "root", 3), end(5)],
        // A fork goes on where it left the other request, and its effects may have begun there.
        vec![
            of_origin(begin(1)),
            of_origin(block(2, "root/a")),
            of_origin(sleep(3, "root/a")),
            fork(3),
            slept(4, "root/a", 3),
            end(5),
        ],
        // A request that is not in an earlier line may have started anything.
        vec![fork(3), slept(4, "root/a", 3), end(5)],
        vec![
            {
                let mut of_itself = fork(3);
                of_itself["event"]["forkedFrom"]["requestId"] = json!("r");
                of_itself
            },
            slept(4, "root/a", 3),
            end(5),
        ],
        // What a file does when it is loaded is of no block.
        vec![
            begin(1),
            event(
                2,
                Some("load"),
                json!({ "kind": "effect_finished", "effect": "random", "ordinal": 0,
            "result": 0.5 }),
            ),
            end(3),
        ],
        // An increment of a state that is not known, or that saw another version, has any sum.
        vec![begin(1), block(2, "root"), plus(3, 9, 2, json!(999)), end(4)],
        vec![record(json!({ "n": 5 })), begin(1), block(2, "root"), plus(3, 9, 2, json!(999)), end(4)],
        vec![record(json!({ "n": null })), begin(1), block(2, "root"), plus(3, 4, 2, json!(2)), end(4)],
    ] {
        assert_eq!(said(&lines), Ok(()), "{lines:#?}");
    }
}
