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
    event(seq, Some(path), json!({ "kind": "effect_started", "effect": "sleep", "ordinal": 0, "request": 1 }))
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

fn done(seq: u64, path: &str, more: Value) -> Value {
    let mut done = json!({ "kind": "block_finished", "outcome": "completed", "output": { "value": 1 } });
    done.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event(seq, Some(path), done)
}

/// The commit of operations that take the record of the session from one version to another.
fn commits(from: u64, version: u64, operations: &[u64]) -> Value {
    let scope = json!({ "kind": "session", "id": "s" });
    json!({ "commits": [{ "scope": scope, "from": from, "version": version, "operations": operations }] })
}

/// The same line with another value in one place.
fn with(mut line: Value, place: &str, value: Value) -> Value {
    *line.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
    line
}

/// The same line without a field.
fn without(mut line: Value, place: &str, field: &str) -> Value {
    line.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(field).unwrap();
    line
}

fn sees(line: Value, version: u64) -> Value {
    let mut line = line;
    line["event"]["versions"] = json!([[{ "kind": "session", "id": "s" }, version]]);
    line
}

/// A request whose lines fit each other; line 1 is the first line of the file.
fn whole() -> Vec<Value> {
    vec![
        record(json!({ "n": 5 })),
        begin(1),
        sees(block(2, "root"), 3),
        {
            let mut inner = block(3, "root/a");
            inner["event"]["parent"] = json!("root:0");
            inner
        },
        plus(4, 4, 2, json!(7)),
        sleep(5, "root/a"),
        slept(6, "root/a", 5),
        clock(7),
        wrote_own(8, 1),
        done(9, "root/a", json!({})),
        done(10, "root", commits(3, 4, &[4])),
        with(end(11), "/event/output", json!({ "of": 10 })),
    ]
}

/// A reading of the clock.
fn clock(seq: u64) -> Value {
    let read = json!({ "kind": "effect_finished", "effect": "clock", "ordinal": 0, "result": 1 });
    event(seq, Some("root/a"), read)
}

/// A write to the state of the request.
fn wrote_own(seq: u64, version: u64) -> Value {
    let operation = json!({ "op": "patch", "fields": { "n": 1 } });
    let wrote = json!({ "kind": "state_changed", "scope": { "kind": "request", "id": "r" }, "operation": operation,
        "version": version });
    event(seq, Some("root/a"), wrote)
}

#[test]
fn a_field_that_contradicts_other_lines_is_named() {
    assert_eq!(said(&whole()), Ok(()));
    // The line that is edited, the field and its value; then the line that is refused, and why.
    for (number, place, value, line, what) in [
        (3, "/event/session", json!("sx"), 4, "the request, which begins in line 3, is of session \"sx\""),
        (3, "/event/timeZone", json!("Etc/UTCx"), 3, "which is no time zone"),
        (4, "/event/versions/0/1", json!(2), 4, "it sees version 2 of session:s, and line 2 has version 3"),
        (2, "/version", json!(9), 4, "it sees version 3 of session:s, and line 2 has version 9"),
        (4, "/path", json!("rootx"), 4, "no block begins at \"path\" rootx"),
        (4, "/attempt", json!(1), 4, "this line must start attempt 0 of block root"),
        (5, "/event/parent", json!("root:1"), 5, "the execution around it is root:0"),
        (5, "/path", json!("root/b"), 7, "the newest block before it, in line 5, is root/b"),
        (6, "/event/version", json!(5), 6, "the commit in line 12 makes it 4"),
        (6, "/event/scope/id", json!("sx"), 6, "is of session \"s\""),
        (7, "/event/ordinal", json!(1), 7, "this is sleep number 0 at root/a"),
        (8, "/event/ordinal", json!(1), 8, "and 0 in line 7, where this sleep begins"),
        (9, "/event/ordinal", json!(1), 9, "this is clock number 0 at root/a"),
        (10, "/event/version", json!(2), 10, "is at version 0 before this line"),
        (10, "/event/scope/id", json!("rx"), 10, "this is an event of request \"r\""),
        (11, "/attempt", json!(1), 11, "but block root/a runs attempt 0"),
        (12, "/event/commits", json!([]), 12, "\"commits\" lacks event 4, which writes to session:s in line 6"),
        (12, "/event/commits/0/operations", json!([4, 4]), 12, "the numbers of \"operations\" rise"),
        (12, "/event/commits/0/from", json!(4), 12, "\"from\" is 4, and line 2 has version 3"),
        (13, "/event/output/of", json!(4), 13, "the value of event 4, which is no earlier event with one"),
    ] {
        let mut lines = whole();
        let edited = &mut lines[number - 2];
        let (around, field) = place.rsplit_once('/').unwrap();
        match edited.pointer_mut(around).unwrap() {
            Value::Array(items) => items[field.parse::<usize>().unwrap()] = value.clone(),
            fields => fields[field] = value.clone(),
        }
        let (found, message) = said(&lines).expect_err(place);
        assert!(found == line && message.contains(what), "line {found}: {message}, not line {line}: {what}");
    }
    for (number, around, field, line, what) in [
        (4, "", "path", 4, "\"path\" is missing"),
        (6, "", "path", 6, "\"path\" is missing"),
        (6, "/event", "value", 6, "\"value\" is missing"),
        (7, "/event", "request", 7, "\"request\" is missing"),
        (8, "/event", "started", 8, "\"started\" is missing"),
        (12, "/event", "output", 13, "and line 12, which is that event, has none"),
    ] {
        let mut lines = whole();
        lines[number - 2] = without(lines[number - 2].clone(), around, field);
        let (found, message) = said(&lines).expect_err(field);
        assert!(found == line && message.contains(what), "line {found}: {message}, not line {line}: {what}");
    }
    let of_no_block = with(end(11), "/event/output", json!({ "of": 10 }));
    let mut lines = whole();
    lines[11] = {
        let mut line = of_no_block;
        line["path"] = json!("root");
        line
    };
    assert!(said(&lines).unwrap_err().1.contains("remove \"path\""), "{lines:#?}");
    let state = json!({ "kind": "state_initialized", "scope": { "kind": "request", "id": "r" }, "state": "text" });
    let lines = vec![begin(1), event(2, None, state), end(3)];
    let (line, message) = said(&lines).unwrap_err();
    assert!(line == 3 && message.contains("\"state\" is a text"), "line {line}: {message}");
}

/// What another request stored while a block ran, and what a request does again after it was resumed.
#[test]
fn what_may_differ_between_lines_is_taken() {
    let resumed = |seq, keeps_ended| {
        let resumed = json!({ "kind": "request_resumed", "owner": "kept", "epoch": 2, "codeHash": "c",
            "keepsEnded": keeps_ended });
        event(seq, None, resumed)
    };
    let again = |mut line: Value| {
        line["attempt"] = json!(1);
        line
    };
    for lines in [
        // Others stored versions 4 and 5 before the event of a block that saw the first of them.
        vec![
            record(json!({})),
            begin(1),
            with(record(json!({})), "/version", json!(5)),
            sees(block(2, "root"), 4),
            end(3),
        ],
        // A pause that began before a resume is waited for in the attempt after it.
        vec![
            begin(1),
            block(2, "root"),
            sleep(3, "root"),
            resumed(4, true),
            again(block(5, "root")),
            again(with(slept(6, "root", 3), "/event/ordinal", json!(0))),
            again(with(sleep(7, "root"), "/event/ordinal", json!(1))),
            end(8),
        ],
        // Earlier versions repeated what they took from the log.
        vec![
            begin(1),
            block(2, "root"),
            done(3, "root", json!({})),
            resumed(4, false),
            done(5, "root", json!({})),
            end(6),
        ],
        // They also emptied the state of the request, and left out the sums of what they repeated.
        vec![
            begin(1),
            block(2, "root"),
            resumed(3, false),
            {
                let set = json!({ "op": "set", "state": {} });
                let emptied = json!({ "kind": "state_changed", "scope": { "kind": "request", "id": "r" },
                    "operation": set, "version": 0 });
                event(4, None, emptied)
            },
            block(5, "root"),
            wrote(6, "root", 1, json!({ "op": "increment", "by": { "n": 1 } }), None),
            end(7),
        ],
        // An atomic operation may make several versions.
        vec![
            begin(1),
            block(2, "root"),
            block(3, "root/a"),
            with(wrote_own(4, 3), "/event/operation", json!({ "op": "atomic", "fields": { "n": 1 } })),
            end(5),
        ],
    ] {
        assert_eq!(said(&lines), Ok(()), "{lines:#?}");
    }
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
