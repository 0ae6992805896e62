//! `flowglass demo --synthetic`: requests that were never run, written as if they had been.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tests::bench::Place;

const SHAPES: [&str; 11] =
    ["mixed", "chain", "tree", "fanout", "loop", "chat", "state", "wide", "nest", "branches", "stream"];

fn events(place: &Place, request: &str) -> Vec<Value> {
    let all = place.get(&format!("events {request} --limit 100000"));
    all.as_array().cloned().unwrap_or_default()
}

#[test]
fn every_shape_is_sound_and_about_as_large_as_asked() {
    for shape in SHAPES {
        let place = Place::new();
        let told = place.get(&format!("demo --synthetic 400 --requests 2 --seed 5 --shape {shape}"));
        let made = told["requests"].as_array().cloned().unwrap_or_default();
        assert_eq!(made.len(), 2, "{shape}: {told}");
        for request in &made {
            let request = request.as_str().unwrap_or_default();
            let events = events(&place, request);
            assert!((250..=700).contains(&events.len()), "{shape}: {request} has {} events", events.len());
            // It is a request like any other.
            let shown = place.get(&format!("show {request}"));
            assert_eq!(shown["request"]["status"], "completed", "{shape}");
            assert!(shown["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty()), "{shape}");
            place.get(&format!("state --request {request} --at {}", events.len() / 2));
        }
        assert_eq!(place.get("sessions").as_array().map(Vec::len), Some(2), "{shape}");
        place.get("check --data");
    }
}

#[test]
fn shapes_of_one_kind_have_what_they_are_named_for() {
    let place = Place::new();
    let blocks = |shape: &str| {
        place.get(&format!("demo --synthetic 1800 --shape {shape}"));
        let shown = place.get(&format!("show synthetic-{shape}-1-0"));
        let blocks = shown["blocks"].as_array().cloned().unwrap_or_default();
        blocks.iter().map(|block| block["path"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let directly = |paths: &[String], start: &str| {
        paths.iter().filter(|path| path.strip_prefix(start).is_some_and(|rest| !rest.contains('/'))).count()
    };
    assert!(directly(&blocks("wide"), "root/step:wide/forEach:") > 850);
    assert!(directly(&blocks("branches"), "root/parallel/") > 850);
    let deepest = blocks("nest").iter().map(|path| path.matches('/').count()).max();
    assert_eq!(deepest, Some(300), "as deep as it gets, and the rest beside it");
    // One item, which grows by a kilobyte with each event.
    blocks("stream");
    let of = "synthetic-stream-1-0";
    let deltas = place.get(&format!("events {of} --kind item_delta --limit 100000"));
    let deltas = deltas.as_array().cloned().unwrap_or_default();
    assert!((1_750..=1_800).contains(&deltas.len()), "{} deltas", deltas.len());
    let items = place.get(&format!("items --request {of}"));
    assert!(items.to_string().len() > 1_800_000, "{} bytes of items", items.to_string().len());
}

#[test]
fn the_same_seed_makes_the_same_requests() {
    let made = |seed: u32| {
        let place = Place::new();
        let told = place.get(&format!("demo --synthetic 300 --seed {seed}"));
        let request = told["requests"][0].as_str().unwrap_or_default().to_owned();
        let plain = |event: Value| (event["kind"].clone(), event["path"].clone(), event["seq"].clone());
        events(&place, &request).into_iter().map(plain).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(1));
    assert_ne!(made(1), made(2));
}

#[test]
fn with_a_rate_it_is_written_live() {
    let place = Place::new();
    let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_millis() as i64;
    place.get("demo --synthetic 1000 --rate 1000");
    let events = events(&place, "synthetic-mixed-1-0");
    let at = |event: &Value| event["at"].as_i64().unwrap_or_default();
    let (first, last) = (at(&events[0]), at(&events[events.len() - 1]));
    assert!(first >= before, "it begins at {first}, after {before}");
    // As many as were asked for, but for pauses of the machine.
    let usual = events.len() as i64 - 100;
    assert!(last - first >= usual && last - first < 4 * usual, "{} events in {} ms", events.len(), last - first);
    let late = events.iter().filter(|event| at(event) - first > (last - first) / 2).count();
    assert!(late > events.len() / 5, "{late} of {} in the second half", events.len());
    place.get("check --data");
}

#[test]
fn a_rate_may_begin_after_so_many_events() {
    let place = Place::new();
    place.get("demo --synthetic 3000 --rate 1000 --at-once 2000");
    let events = events(&place, "synthetic-mixed-1-0");
    let at = |n: usize| events[n].get("at").and_then(Value::as_i64).unwrap_or_default();
    let (first, live) = (at(1_900) - at(0), at(events.len() - 1) - at(2_100));
    let usual = events.len() as i64 - 2_200;
    assert!(live >= usual && live < 4 * usual, "{} events in {live} ms", events.len() - 2_100);
    assert!(first < 1_900, "{first} ms are more than a thousand a second would take");
}

#[test]
fn what_cannot_be_made_up_is_told_and_nothing_is_written() {
    let place = Place::new();
    let wrong = [
        ("demo --synthetic 0", "10..=10000000"),
        ("demo --synthetic 100 --requests 0", "1..=1000000"),
        ("demo --synthetic 100 --shape star", "mixed, chain, tree"),
        ("demo --synthetic many", "invalid value 'many'"),
        ("demo --synthetic 100 --rate 0", "1..=1000000"),
        ("demo --rate 100", "--synthetic"),
        ("demo --synthetic 100 --at-once 50", "--rate"),
    ];
    for (line, expected) in wrong {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(2), "{line}\n{answer}");
        assert!(answer.stdout.contains(expected), "{line}\n{answer}");
    }
    assert!(!place.database().exists());
    place.get("demo --synthetic 100 --seed 3");
    let again = place.ask("demo --synthetic 100 --seed 3");
    assert_eq!(again.code, Some(7), "{again}");
    assert!(again.stdout.contains("another --seed makes other requests"), "{again}");
}
