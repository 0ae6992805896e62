//! What goes into a file comes out of it, and what a hand may do to it is told with its line.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use engine::event::{EventKind, RequestStatus};

use super::*;

fn event(seq: Seq, kind: EventKind) -> BundleRecord {
    BundleRecord::Event { request: "req_1".into(), event: Box::new(Event { seq, at: 5, path: None, attempt: 0, kind }) }
}

fn output(value: Value) -> EventKind {
    EventKind::RequestFinished {
        status: RequestStatus::Completed,
        output: Some(engine::event::Recorded::Value(value)),
        error: None,
    }
}

fn run(pieces: Vec<BundleRecord>, expectation: Expectation) -> RunFile {
    let text = |text: &str| text.to_owned();
    let (action, flow, request, status) = (text("total"), text("cart"), text("req_1"), text("completed"));
    let events = pieces.len() as u64;
    let label = RunLabel { action, events, flow, flowglass: text(NAME), format: FORMAT, request, status };
    let source = Source { file: PathBuf::new(), hash: blake3::hash(b"") };
    RunFile { label, pieces, expectation, lines: Lines::default(), source }
}

fn parse(text: &str) -> Result<RunFile, Wrong> {
    let mut text = std::io::Cursor::new(text);
    let read = RunFile::parse(&mut text, Path::new("x.run"), &Limits::default(), &Cancel::default());
    read.map(|read| read.expect("nobody has cancelled it"))
}

#[test]
fn what_goes_in_comes_out_and_the_same_run_is_the_same_text() {
    let long: Vec<Value> = (0..200).map(|n| json!({ "n": n, "text": "line\nline" })).collect();
    let values = [
        json!(null),
        json!({ "b": 1, "a": [1.5, -0.0, 1e300] }),
        json!("a text\nof two lines"),
        json!("long ".repeat(100)),
        json!("lines\n".repeat(100)),
        json!("\n\n  {\"text\":2}\n{\"value\":1}\n".repeat(30)),
        json!("with a carriage return\r\n".repeat(30)),
        json!({ "$long": 1 }),
        json!({ "$long": { "deep": "x".repeat(500) } }),
        json!(long),
        json!([long, long, { "again": long }]),
        json!({ "text": 1 }),
        json!([{ "text": 1 }, { "value": 2 }]),
    ];
    for value in values {
        let did = [("root/a".into(), None), ("root/b".into(), Some(vec![json!({ "output": value })]))];
        let written = run(vec![event(1, output(value.clone()))], Expectation(did.into_iter().collect()));
        let text = written.text().unwrap();
        assert_eq!(text, written.text().unwrap());
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let read = parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            assert_eq!((&read.pieces, &read.expectation), (&written.pieces, &written.expectation), "{text}");
        }
    }
}

#[test]
fn a_long_value_stands_once() {
    let text = "one line\n".repeat(100);
    let value = json!({ "one": text, "two": text, "three": [text] });
    let text = run(vec![event(1, output(value))], Expectation::default()).text().unwrap();
    assert_eq!(text.matches("one line").count(), 100);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let whole = run(
        vec![
            event(1, output(json!("long\n".repeat(100)))),
            event(2, EventKind::RequestStatus { status: RequestStatus::Completed }),
        ],
        Expectation::default(),
    )
    .text()
    .unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at - 1] = line;
        lines.join("\n")
    };
    for (text, line, what) in [
        (String::new(), 1, "no .run file"),
        ("hello".to_owned(), 1, "no .run file"),
        (lines[0].to_owned(), 1, "ends after event 0, but this line names 2 events"),
        (with(1, &lines[0].replace("\"format\":1", "\"format\":2")), 1, "newer than format 1"),
        (with(1, &lines[0].replace("\"format\":1", "\"format\":\"x\"")), 1, "not a number"),
        (with(1, &lines[0].replace("\"flow\":\"cart\",", "")), 1, "flow"),
        (whole.replace("\"seq\":", "\"request\":\"other\",\"seq\":"), 1, "no event of it"),
        (with(2, "{\"at\":5,"), 2, "not JSON"),
        (with(2, "{\"at\":5}"), 2, "none of"),
        (with(2, &lines[1].replace("\"seq\":1", "\"seq\":7")), 2, "event 1 of request"),
        (with(2, &lines[1].replace("completed", "well")), 2, "no request_finished event"),
        (with(2, &lines[1].replace("request_finished", "request_ended")), 2, "no event \"request_ended\""),
        (with(2, &lines[1].replace("{\"$long\":1}", "{\"$long\":9}")), 2, "long value 9"),
        (with(3, lines[1]), 3, "event 2 of request"),
        (with(4, "{\"text\":3}"), 4, "long value 1"),
        (with(6, "no spaces"), 6, "two spaces"),
        (with(4, "{\"value\":1}"), 5, "not JSON"),
    ] {
        let (found, message) = parse(&text).unwrap_err();
        assert!(found == line && message.contains(what), "line {found}: {message}, not line {line}: {what}");
    }
}

/// A value that one line refers to is moved there. A reference that a hand wrote otherwise finds it all the same.
#[test]
fn a_long_value_is_in_memory_once_and_found_by_every_reference() {
    let value = json!("long\n".repeat(100));
    let text = run(vec![event(1, output(value.clone())), event(2, output(value))], Expectation::default());
    let text = text.text().unwrap();
    let written = parse(&text).unwrap();
    for otherwise in ["{ \"$long\" : 1 }", "{\"\\u0024long\":1}"] {
        for odd in [text.replacen("{\"$long\":1}", otherwise, 1), text.replace("{\"$long\":1}", otherwise)] {
            assert_ne!(odd, text);
            assert_eq!(parse(&odd).unwrap().pieces, written.pieces, "{odd}");
        }
    }
}

#[test]
fn reading_that_is_cancelled_ends_in_the_middle() {
    let cancel = Cancel::default();
    cancel.cancel();
    let text = run(vec![event(1, output(json!("long\n".repeat(1_000))))], Expectation::default()).text().unwrap();
    let mut text = std::io::Cursor::new(text);
    let read = RunFile::parse(&mut text, Path::new("x.run"), &Limits::default(), &cancel).unwrap();
    assert!(read.is_none());
}

#[test]
fn a_field_that_is_not_of_its_line_is_named() {
    let text = run(vec![event(1, output(json!(1)))], Expectation::default()).text().unwrap();
    let record = json!({ "record": { "id": "s", "kind": "session", "zz": 1 }, "state": {}, "version": 0 });
    for (odd, line, field) in [
        (text.replace("\"seq\":1", "\"seq\":1,\"zz\":1"), 2, "\"zz\""),
        (text.replace("\"status\":\"completed\"},", "\"status\":\"completed\",\"zz\":1},"), 2, "\"zz\""),
        (format!("{text}{{\"did\":null,\"expected\":\"root\",\"zz\":1}}\n"), 3, "\"zz\""),
        (format!("{text}{record}\n"), 3, "\"zz\""),
    ] {
        let (found, message) = parse(&odd).unwrap_err();
        assert!(found == line && message.contains(field), "line {found}: {message}\n{odd}");
    }
    // The first line is where a newer version of the same format may say more.
    parse(&text.replacen("\"events\":1", "\"events\":1,\"madeBy\":\"9.1\"", 1)).unwrap();
}

/// A value that names itself, or one below it, has no content: the line says where.
#[test]
fn a_long_value_that_names_itself_is_told_with_the_line_of_the_reference() {
    let text = run(vec![event(1, output(json!(1)))], Expectation::default()).text().unwrap();
    let text = text.replace("{\"value\":1}", "{\"value\":{\"$long\":1}}");
    for (below, line, what) in [
        ("{\"value\":1}\n[\n  1,\n  {\"$long\":1}\n]\n", 6, "the long value 1 names itself"),
        ("{\"value\":1}\n[{ \"$long\" : 1 }]\n", 4, "the long value 1 names itself"),
        (
            "{\"value\":1}\n[{\"$long\":2}]\n{\"value\":2}\n[{\"$long\":1}]\n",
            4,
            "the long value 1 refers to 2, and only those before it can be named",
        ),
        ("{\"value\":1}\n{\n\"a\":{\"$long\":12}}\n", 5, "the long value 1 refers to 12"),
    ] {
        let (found, message) = parse(&format!("{text}{below}")).unwrap_err();
        assert!(found == line && message.contains(what), "line {found}: {message}, not line {line}: {what}");
    }
}

/// Each value is twice the one before: forty lines would be a terabyte.
#[test]
fn long_values_that_refer_to_each_other_without_end_are_refused() {
    let mut text = run(vec![event(1, output(json!(1)))], Expectation::default()).text().unwrap();
    text = text.replace("{\"value\":1}", "{\"value\":{\"$long\":40}}");
    text.push_str("{\"value\":1}\n[1,2,3]\n");
    for number in 2..=40 {
        text.push_str(&format!("{{\"value\":{number}}}\n[{{\"$long\":{0}}},{{\"$long\":{0}}}]\n", number - 1));
    }
    let (_, message) = parse(&text).unwrap_err();
    assert!(message.contains("more than 512 MB"), "{message}");
}

/// Each value is a level deeper than the one before, nine hundred times in each.
#[test]
fn long_values_that_nest_without_end_are_refused() {
    let mut text = run(vec![event(1, output(json!(1)))], Expectation::default()).text().unwrap();
    text = text.replace("{\"value\":1}", "{\"value\":{\"$long\":200}}");
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(100), "]".repeat(100));
    text.push_str(&format!("{{\"value\":1}}\n{}\n", deep("1")));
    for number in 2..=200 {
        text.push_str(&format!("{{\"value\":{number}}}\n{}\n", deep(&format!("{{\"$long\":{}}}", number - 1))));
    }
    let (_, message) = parse(&text).unwrap_err();
    assert!(message.contains("nests deeper"), "{message}");
}
