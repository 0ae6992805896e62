//! Parts of a value are the value, and references lead to what was shown and to nothing else.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::find::find;
use super::measured::{MAX_ANSWER_BYTES, Measured, measure};
use crate::core::fault::Fault;
use crate::run::synthetic::{Shape, Synthetic};
use crate::views::*;
use crate::workspace::{At, OpenOptions, Workspace};

fn text(random: &mut Rng) -> String {
    let length = if random.u8(..) < 6 { random.usize(..9_000) } else { random.usize(..12) };
    (0..length)
        .map(|_| *random.choice(&['a', 'b', 'é', '\n', '"', '\\', '\u{1}', '😀', '/', '~', ' ']).unwrap())
        .collect()
}

fn value(random: &mut Rng, level: usize) -> Value {
    let length = if random.u8(..) < 10 { random.usize(..1_500) } else { random.usize(..6) };
    match random.u8(..if level > 5 { 4 } else { 7 }) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(..)),
        3 => Value::String(text(random)),
        4 => (0..length).map(|_| value(random, level + 3)).collect(),
        5 => (0..random.usize(..4)).map(|_| value(random, level + 1)).collect(),
        _ => Value::Object((0..length).map(|n| (format!("{n}{}", text(random)), value(random, level + 2))).collect()),
    }
}

/// A list, so that no seed is one scalar alone.
fn root(random: &mut Rng) -> Value {
    (0..24).map(|_| value(random, 1)).collect()
}

fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A value put together from its parts, as a page that opens everything reads it.
fn read(measured: &Measured, path: &str, limit: u64) -> Value {
    let page = |offset: u64| {
        let query = PayloadQuery { path: path.to_owned(), offset, limit };
        let page = measured.page(&query).unwrap();
        let inline: u64 = page
            .entries
            .iter()
            .map(|entry| match &entry.value {
                Payload::Inline(Json(value)) => measure(value, &mut HashMap::new()),
                Payload::Large(_) => 0,
            })
            .filter(|bytes| *bytes > 16)
            .sum();
        assert!(inline <= MAX_ANSWER_BYTES, "{inline} bytes in one answer");
        page
    };
    let first = page(0);
    let mut offset = 0;
    let mut texts = String::new();
    let mut entries = Vec::new();
    while offset < first.count {
        let page = page(offset);
        texts.push_str(page.text.as_deref().unwrap_or_default());
        for (at, entry) in (offset..).zip(page.entries) {
            let inner = format!("{path}/{}", entry.key.as_deref().map_or_else(|| at.to_string(), step));
            let value = match entry.value {
                Payload::Inline(Json(value)) => value,
                Payload::Large(large) => {
                    let whole = read(measured, &inner, limit);
                    assert_eq!(large.bytes, whole.to_string().len() as u64, "{inner}");
                    whole
                }
            };
            entries.push((entry.key, value));
        }
        offset += limit;
    }
    match first.kind {
        ValueKind::Text => Value::String(texts),
        ValueKind::List => entries.into_iter().map(|(_, value)| value).collect(),
        ValueKind::Object => {
            Value::Object(entries.into_iter().map(|(key, value)| (key.unwrap(), value)).collect::<Map<_, _>>())
        }
        ValueKind::Scalar => measured.at(path).unwrap().clone(),
    }
}

#[test]
fn all_parts_of_a_value_are_the_value() {
    let mut large = 0;
    for seed in 0..24 {
        let mut random = Rng::with_seed(seed);
        let value = root(&mut random);
        let written = value.to_string();
        let measured = Measured::new(value.clone()).unwrap();
        assert_eq!(measured.bytes, written.len() as u64, "seed {seed}");
        assert_eq!(measured.hash, blake3::hash(written.as_bytes()).to_hex().to_string(), "seed {seed}");
        assert_eq!(read(&measured, "", random.u64(50..=1_000)), value, "seed {seed}");
        large += usize::from(written.len() > 4_096);
    }
    assert!(large > 10, "only {large} large values");
}

/// Every text and key that has the wanted one in it, with how often.
fn plain(value: &Value, path: &str, wanted: &str, found: &mut Vec<(String, bool)>) {
    let count = |text: &str| text.to_ascii_lowercase().matches(wanted).count();
    match value {
        Value::String(text) => found.extend((0..count(text)).map(|_| (path.to_owned(), false))),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, one)| plain(one, &format!("{path}/{at}"), wanted, found));
        }
        Value::Object(fields) => {
            for (key, one) in fields {
                let inner = format!("{path}/{}", step(key));
                found.extend((0..count(key)).map(|_| (inner.clone(), true)));
                plain(one, &inner, wanted, found);
            }
        }
        Value::Null => {}
        other => found.extend((0..count(&other.to_string())).map(|_| (path.to_owned(), false))),
    }
}

#[test]
fn a_search_finds_what_a_plain_search_finds() {
    let mut many = 0;
    for seed in 0..4 {
        let value = root(&mut Rng::with_seed(seed));
        for wanted in ["a", "ab", "/", "é", "😀a", "true", "7"] {
            let mut expected = Vec::new();
            plain(&value, "", wanted, &mut expected);
            let mut found = Vec::new();
            loop {
                let hits = find(&value, wanted, found.len() as u64);
                for hit in &hits.hits {
                    assert!(hit.around.to_ascii_lowercase().contains(wanted), "{hit:?}");
                    let owner = value.pointer(&hit.path).unwrap();
                    if let (Value::String(text), false) = (owner, hit.is_key) {
                        let rest: String = text.chars().skip(usize::try_from(hit.at).unwrap()).collect();
                        assert!(rest.to_ascii_lowercase().starts_with(wanted), "{hit:?}");
                    }
                    let reached = hit.places.iter().try_fold(&value, |value, place| {
                        let place = usize::try_from(*place).ok()?;
                        match value {
                            Value::Array(list) => list.get(place),
                            Value::Object(fields) => fields.values().nth(place),
                            _ => None,
                        }
                    });
                    assert_eq!(reached.map(std::ptr::from_ref), Some(std::ptr::from_ref(owner)), "{hit:?}");
                }
                found.extend(hits.hits.into_iter().map(|hit| (hit.path, hit.is_key)));
                if !hits.more {
                    break;
                }
            }
            assert_eq!(found, expected, "\"{wanted}\" in seed {seed}");
            many += usize::from(expected.len() > 100);
        }
    }
    assert!(many > 3, "only {many} searches had a second page");
}

#[test]
fn what_is_not_there_is_said() {
    let measured = Measured::new(json!({ "plan": [1, "two"], "a/b": "x".repeat(50) })).unwrap();
    let asked = |path: &str, offset: u64, limit: u64| {
        let fault = measured.page(&PayloadQuery { path: path.to_owned(), offset, limit }).unwrap_err();
        (fault.name(), fault.to_string())
    };
    let said = [
        (asked("/plan/2", 0, 1), "NotFoundError", "at \"/plan\" stands a list of 2 entries"),
        (asked("/a", 0, 1), "NotFoundError", "an object with 2 keys"),
        (asked("plan", 0, 1), "ValidationError", "no JSON pointer"),
        (asked("/plan", 3, 1), "ValidationError", "an offset of 3: there are 2 entries"),
        (asked("/a~1b", 51, 1), "ValidationError", "there are 50 characters"),
        (asked("", 0, 0), "ValidationError", "a limit of 0"),
        (asked("", 0, 1_001), "ValidationError", "1 to 1000 entries"),
    ];
    for ((name, text), expected, part) in said {
        assert!(name == expected && text.contains(part), "{name}: {text}");
    }
    let fault = measured.whole("/a~1b", 20).unwrap_err();
    assert!(matches!(&fault, Fault::Refused { message } if message.contains("52 bytes")), "{fault}");
}

#[test]
fn a_reference_opens_what_was_shown_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let shape = Shape::ALL[0];
    let made =
        workspace.synthesize(&Synthetic { events: 400, requests: 2, seed: 7, shape, rate: None, at_once: 0 }).unwrap();
    let [one, other] = &made.requests[..] else { panic!("two requests") };
    let seq = workspace.request(one).unwrap().last_seq;
    // Scopes in pages are the state whole.
    let (_, expected) = super::instants::scopes(workspace.state_at(one, Some(&At::Seq(seq))).unwrap());
    let ids: Vec<&str> = expected.iter().map(|(scope, _)| scope.id.as_str()).collect();
    let mut found = Vec::new();
    for offset in 0..ids.len() as u64 {
        let query = ScopesQuery { seq, offset, limit: 1, also: Vec::new() };
        found.extend(workspace.state_scopes(one, &query).unwrap().scopes.into_iter().map(|scope| scope.id));
    }
    assert_eq!(found, ids);
    // So are differences in pages.
    let all = workspace.all_changes(one, 0, seq, false).unwrap();
    let mut paths = Vec::new();
    for offset in (0..all.len() as u64).step_by(3) {
        let page = workspace.diff_page(one, (0, seq), false, (offset, 3)).unwrap();
        assert_eq!(page.total, all.len() as u64);
        paths.extend(page.changes.into_iter().map(|change| change.path));
    }
    assert_eq!(paths, all.into_iter().map(|change| change.path).collect::<Vec<_>>());
    // The hash of one value opens no other, not even while it is in memory.
    let events = workspace.event_parts(one, 1, 1).unwrap();
    let row = workspace.events(one, store::EventQuery { to: Some(1), ..Default::default() }).unwrap();
    let measured = Measured::new(row[0].payload.0.clone()).unwrap();
    assert!(matches!(&events[0].payload, Payload::Inline(Json(value)) if value == measured.value()));
    let at = |request: &str, seq: u64| PayloadAddress::Event { request: request.to_owned(), seq };
    let good = PayloadReference { hash: measured.hash.clone(), at: at(one, 1) };
    let query = PayloadQuery { path: String::new(), offset: 0, limit: 10 };
    assert_eq!(workspace.payload(&good, &query).unwrap().bytes, measured.bytes);
    let not_found = |reference: PayloadReference| {
        let fault = workspace.payload(&reference, &query).unwrap_err();
        assert!(matches!(fault, Fault::NotFound { .. }), "{reference:?}: {fault}");
        fault.to_string()
    };
    assert!(not_found(PayloadReference { at: at(other, 2), ..good.clone() }).contains("not there any more"));
    assert!(not_found(PayloadReference { at: at("nobody", 1), ..good.clone() }).contains("unknown request"));
    assert!(not_found(PayloadReference { at: at(one, 1_000_000), ..good.clone() }).contains("event 1000000"));
    not_found(PayloadReference { hash: "no hash".to_owned(), ..good.clone() });
    let saved = workspace.payload_save(&good, "", "first.json").unwrap();
    let text = std::fs::read_to_string(dir.path().join("first.json")).unwrap();
    assert_eq!(
        (serde_json::from_str::<Value>(&text).unwrap(), saved.bytes),
        (row[0].payload.0.clone(), text.len() as u64)
    );
    // The dialog has asked whether to replace it. What cannot be written leaves nothing behind, and the old file whole.
    std::fs::write(dir.path().join("first.json"), "older").unwrap();
    assert_eq!(workspace.payload_save(&good, "", "first.json").unwrap().bytes, saved.bytes);
    assert_eq!(std::fs::read_to_string(dir.path().join("first.json")).unwrap(), text);
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let before = files();
    assert!(matches!(workspace.payload_save(&good, "/nothing", "first.json"), Err(Fault::NotFound { .. })));
    for no_file in ["flows", "first.json/inside.json", "none/second.json"] {
        assert!(matches!(workspace.payload_save(&good, "", no_file), Err(Fault::Refused { .. })), "{no_file}");
    }
    assert_eq!(files(), before);
    assert_eq!(std::fs::read_to_string(dir.path().join("first.json")).unwrap(), text);
    // What was deleted is gone, though it is in memory.
    workspace.delete_session(&workspace.request(one).unwrap().session_id).unwrap();
    assert!(not_found(good).contains("unknown request"));
}
