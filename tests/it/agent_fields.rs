//! Every field of the `FlowState` that a tool and each of the eight hooks reads and writes, with a person on the other
//! side and with a second model: `tests/flows/agent-fields` holds the flow and a table, one case a line.
//!
//! A case names a field, a place and an arrangement of sides. `read` is what the field is there; `write` is what comes
//! of writing to it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::bench::{Place, repository};

const MOCK: &str = r#"{ "generators": {
  "ann": [{ "text": "hello" }, { "text": "again" }, { "text": "more" }],
  "bob": [{ "toolCalls": [{ "name": "probe", "args": {} }, { "name": "broken", "args": {} }] }, { "text": "done" }, { "text": "enough" }]
} }"#;

fn check(sides: &str) {
    let folder = repository().join("tests/flows/agent-fields");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is there");
    let flow = text("fields.ts").replace("\"human\" as ", &format!("\"{sides}\" as "));
    // With a person it is side a that calls the tools.
    let mock = if sides == "human" { MOCK.replace("ann", "x").replace("bob", "ann") } else { MOCK.to_owned() };
    let place = Place::new().file("flows/fields.ts", &flow).file("mock.json", &mock);
    place.write("flowglass.json", r#"{ "env": { "REGION": "eu" } }"#);
    let cases: Vec<Value> = serde_json::from_str(&text("cases.json")).expect("a table");
    let mut runs: BTreeMap<String, (String, Value)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case["sides"] == sides) {
        let (field, at) = (&case["field"], &case["place"]);
        let asked = match case.get("write") {
            Some(_) => json!({ "place": at, "write": field }),
            None => json!({ "place": at }),
        };
        let number = runs.len();
        let (request, found) =
            runs.entry(asked.to_string()).or_insert_with(|| essence(&place, &asked, &format!("r{number}")));
        let (expected, found) = match case.get("write") {
            Some(expected) => (
                expected,
                expected.as_object().expect("fields").keys().map(|key| (key.clone(), found[key].clone())).collect(),
            ),
            None => (&case["read"], found["seen"][field.as_str().expect("a name")].clone()),
        };
        let expected = named(expected, request);
        if found != expected {
            wrong.push(format!("{field} at {at}: {found} and not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} with {sides}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(runs.len(), 9 + 9 * 8, "every place reads, and writes eight fields");
}

/// The ids of this run in the place of `r` and `s`.
fn named(value: &Value, request: &str) -> Value {
    match value {
        Value::String(text) if text == "r" => request.into(),
        Value::String(text) if text == "s" => format!("s-{request}").into(),
        Value::Array(all) => all.iter().map(|one| named(one, request)).collect(),
        other => other.clone(),
    }
}

/// Runs the agent with one message. Returns what came of it.
fn essence(place: &Place, asked: &Value, request: &str) -> (String, Value) {
    let input = json!({ "content": asked.to_string() }).to_string();
    let session = format!("s-{request}");
    let words = ["run", "fields", "message", "--user", "ada", "--session", &session, "--request", request, "--json"];
    let answer = place.run(&[&words[..], &["--input", &input, "--mock=mock.json"]].concat());
    assert_eq!(answer.code, Some(0), "{asked}\n{answer}");
    let state = place.get(&format!("state --request {request}"));
    let (flow, agent) = (&state["flowState"], &state["agent"]);
    let rows = flow["messageHistory"].as_array().expect("messages");
    let of = |role: &str, field: &str| -> Vec<&str> {
        rows.iter().filter(|row| row["role"] == role).filter_map(|row| row[field].as_str()).collect()
    };
    let turns = agent["turns"].as_array().expect("turns").iter().filter_map(|turn| turn["side"].as_str());
    let found = json!({
        "seen": flow["context"]["seen"],
        "context": flow["context"]["mark"],
        "storage": flow["storage"]["mark"],
        "turnCount": flow["turnCount"],
        "stopped": flow["stopped"],
        "stoppedBy": flow["stoppedBy"],
        "stopReason": agent["stopReason"],
        "turns": turns.collect::<String>(),
        "tools": of("tool", "name").join(" "),
        "added": of("system", "content"),
    });
    (request.to_owned(), found)
}

#[test]
fn every_field_with_a_person() {
    check("human");
}

#[test]
fn every_field_with_two_models() {
    check("two");
}
