//! Bugs inside blocks: `print` and `step` alone show the value that proves each bug, in at most three commands
//! (`tests/flows/lines`, and the flows of `tests/flows/planted` whose bug is visible at a line).

use serde_json::Value;
use tests::bench::{Place, repository};

use crate::recipes;

/// How many commands a bug may need.
const COMMANDS: usize = 3;

fn text_of(file: &str) -> String {
    std::fs::read_to_string(repository().join("tests/flows").join(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn cases() -> Vec<Value> {
    serde_json::from_str(&text_of("lines/cases.json")).expect("JSON")
}

/// Records the run of a case, and returns the ids of its requests.
fn record(place: &Place, case: &Value) -> Vec<String> {
    if let Some(planted) = case["planted"].as_str() {
        let runs = serde_json::from_str(&text_of(&format!("planted/{planted}.case.json"))).expect("JSON");
        return recipes::record(place, planted, &runs);
    }
    let flow = case["flow"].as_str().expect("a flow");
    place.write(&format!("{flow}.ts"), text_of(&format!("lines/{flow}.ts")));
    let (action, input) = (case["action"].as_str().expect("an action"), case["input"].to_string());
    let ran = place.run(&["run", flow, action, "--user", "ada", "--request", "run1", "--input", &input, "--json"]);
    assert_eq!(ran.code, Some(0), "{flow}: {ran}");
    // The run must have the wrong output that the case describes.
    assert_eq!(ran.json()["output"], case["output"], "{flow}");
    vec!["run1".to_owned()]
}

/// Checks that each command of a case shows the value that proves the bug.
fn check(case: &Value) {
    let name = case["flow"].as_str().or(case["planted"].as_str()).expect("a flow");
    let place = Place::new();
    let ids = record(&place, case);
    let asks = case["asks"].as_array().expect("commands");
    assert!((1..=COMMANDS).contains(&asks.len()), "{name}: {} commands", asks.len());
    for ask in asks {
        let words = recipes::filled(&ask["words"], &ids);
        let words: Vec<&str> = words.as_array().expect("words").iter().filter_map(Value::as_str).collect();
        assert!(["print", "step"].contains(&words[0]), "{name}: {words:?}");
        let answer = place.run(&words);
        assert_eq!(answer.code, Some(0), "{name}: {words:?}\n{answer}");
        for shows in ask["shows"].as_array().expect("what it shows").iter().filter_map(Value::as_str) {
            assert!(answer.stdout.contains(shows), "{name}: {words:?} does not show {shows:?}\n{answer}");
        }
    }
}

#[test]
fn print_and_step_find_bugs_inside_blocks() {
    let cases = cases();
    assert!(cases.len() >= 20, "{}", cases.len());
    cases.iter().for_each(check);
}

#[test]
fn every_cause_inside_a_block_is_a_line_of_its_flow() {
    for case in cases() {
        let Some(flow) = case["flow"].as_str() else { continue };
        let text = text_of(&format!("lines/{flow}.ts"));
        let line = case["cause"]["line"].as_u64().expect("a line") as usize;
        assert!(text.lines().nth(line - 1).is_some_and(|line| !line.trim().is_empty()), "{flow}:{line}");
        for (of, field) in [(&case, "symptom"), (&case["cause"], "what")] {
            assert!(of[field].as_str().is_some_and(|said| said.len() > 20), "{flow}: {field}");
        }
    }
}
