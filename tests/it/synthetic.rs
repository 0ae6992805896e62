//! `flowglass demo --synthetic`: requests that were never run, written as if they had been.

use serde_json::Value;
use tests::bench::Place;

const SHAPES: [&str; 7] = ["mixed", "chain", "tree", "fanout", "loop", "chat", "state"];

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
fn what_cannot_be_made_up_is_told_and_nothing_is_written() {
    let place = Place::new();
    let wrong = [
        ("demo --synthetic 0", "10..=10000000"),
        ("demo --synthetic 100 --requests 0", "1..=1000000"),
        ("demo --synthetic 100 --shape star", "mixed, chain, tree"),
        ("demo --synthetic many", "invalid value 'many'"),
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
