//! Requests with Calls: a process that dies at any commit, a fork before an approval, and a replay after an edit.

use std::collections::HashMap;
use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Place, program};

/// Calls in the order of their data, one that no request waits for, one that fails, and a delegate for each instance.
const FLOW: &str = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
const place = { type: "string" };
Tool.register("add", { properties: { a: {}, b: {}, _outputPath: place } });
Activity.register("add", async ({ a, b }) => a + b);
Tool.register("tell", { properties: { _scopes: { const: ["state"] } } });
Activity.register("tell", async (_call, { state }) => Object.keys(state));
Tool.register("fail", { properties: { _outputPath: place } });
Activity.register("fail", () => { throw new Error("it broke"); });
Tool.register("write", { properties: { _delegate: { const: "writer" }, _scopes: { const: ["part"] }, _outputPath: place } });
Delegate.register("writer", { context: [{ type: "tool", tool: "add" }] });
const agent = Agent({ name: "agent", model: "m", context: () => [
  { type: "state", x: 1 },
  { type: "data", kind: "part", data: { n: 1 }, _instance: "1" },
  { type: "data", kind: "part", data: { n: 2 }, _instance: "2" },
  ...["add", "tell", "fail", "write"].map((tool) => ({ type: "tool", tool })),
] });
export default defineFlow({ kind: "acts", actions: { go: { block: agent } } });
"#;

fn replies() -> Value {
    let solution = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let inner = solution(json!([{ "_tool": "add", "a": 1, "b": 1, "_outputPath": "†state.sum" }]), Value::Null);
    let done = solution(json!([]), json!("written"));
    let first = json!([
        { "_tool": "add", "a": "†state.y", "b": 1, "_outputPath": "†state.z" },
        { "_tool": "add", "a": "†state.x", "b": 1, "_outputPath": "†state.y" },
        { "_tool": "tell" },
        { "_tool": "fail", "_outputPath": "†state.never" },
    ]);
    let second = json!([{ "_tool": "write", "_instance": "1", "_outputPath": "†part.text" }]);
    let third = json!([{ "_tool": "write", "_instance": "2", "_outputPath": "†part.text" }]);
    json!({ "generators": {
        "agent": [
            solution(first, Value::Null), solution(second, Value::Null), solution(third, Value::Null),
            solution(json!([]), json!("done")),
        ],
        "writer": [inner, done, inner, done],
    } })
}

fn place() -> Place {
    let place = Place::new().file("flows/acts.ts", FLOW).file("flows/acts.mock.json", &replies().to_string());
    place.get("check");
    place
}

fn events(place: &Place, data: &str, request: &str) -> Vec<Value> {
    let path = place.dir().join(data).display().to_string();
    let words = ["events", request, "--json", "--data", &path];
    let answer = Command::new(program()).args(words).current_dir(place.dir()).output().expect("it starts");
    serde_json::from_slice(&answer.stdout).expect("events")
}

/// The context of the agent's last request, with the results of all earlier ticks.
fn last_context(events: &[Value]) -> Value {
    let is_tick = |event: &&Value| event["kind"] == "block_started" && event["path"] == "root/tick[3]";
    let tick = events.iter().rev().find(is_tick).expect("a fourth tick");
    tick["payload"]["input"]["value"]["context"].clone()
}

/// A process dies at each commit in turn, and another resumes the request. The last request gets the same context, no
/// answered model call is repeated, and no finished Activity runs again.
#[test]
fn a_crash_at_any_commit_repeats_nothing() {
    let place = place();
    let crash = |data: &str, words: &[&str]| -> Option<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        let answer = command.arg(place.dir()).arg(place.dir().join(data)).args(words).output().expect("it starts");
        serde_json::from_slice(&answer.stdout).ok()
    };
    let plain = crash("plain.db", &["run", "acts", "r"]).expect("nothing tells it to die");
    let whole = last_context(&events(&place, "plain.db", "r"));
    assert!(whole.to_string().contains("it broke"), "{whole}");
    let commits = plain["commits"].as_u64().expect("a number");
    assert!(commits > 5, "it has only {commits} commits");
    let mut wrong = Vec::new();
    for n in 1..=commits {
        let data = format!("r{n}.db");
        crash(&data, &["run", "acts", "r", &n.to_string()]);
        let resumed = crash(&data, &["resume", "r"]).expect("nothing tells it to die");
        assert_eq!(resumed["after"]["output"], "done", "commit {n}: {resumed}");
        let events = events(&place, &data, "r");
        let found = last_context(&events);
        if found != whole {
            wrong.push(format!("commit {n}:\n  {found}\n  {whole}"));
        }
        wrong.extend(repeated(&events).into_iter().map(|what| format!("commit {n}: {what}")));
    }
    assert!(wrong.is_empty(), "of {commits} commits:\n{}", wrong.join("\n"));
}

/// Work that was repeated although the log had its end.
fn repeated(events: &[Value]) -> Vec<String> {
    let mut done: HashMap<String, usize> = HashMap::new();
    for event in events {
        let path = event["path"].as_str().unwrap_or_default();
        let what = match event["kind"].as_str() {
            Some("block_finished") if path.contains("/activity:") && event["payload"]["outcome"] == "completed" => {
                path.to_owned()
            }
            Some("effect_finished") if event["payload"]["effect"] == "model" => {
                format!("{path} model {}", event["payload"]["ordinal"])
            }
            _ => continue,
        };
        if event["payload"]["memoized"] != true {
            *done.entry(what).or_default() += 1;
        }
    }
    done.into_iter().filter(|(_, count)| *count > 1).map(|(what, count)| format!("{what} {count} times")).collect()
}

/// A replay of an edited file names the block that behaves differently.
#[test]
fn a_replay_shows_what_an_edit_changed() {
    let place = place();
    place.get("run acts go --user ada --request r --mock");
    let same = place.get("replay r");
    assert_eq!(same["identical"], true, "{same}");
    place.write("flows/acts.ts", FLOW.replace("a + b", "a + b + 1"));
    let edited = place.ask("replay r").json();
    let text = edited.to_string();
    assert!(text.contains("call:add[1]"), "{text}");
}

/// A thousand Calls of one solution push onto one list in order, and a thousand form a chain in which each needs the
/// previous result. The work must be linear: a Call must not merge and record the results of all others.
#[test]
fn a_thousand_calls_write_one_place() {
    const COUNT: usize = 1_000;
    let flow = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
const place = { type: "string" };
Tool.register("push", { properties: { n: {}, _outputMethod: { const: "push" }, _outputPath: place } });
Activity.register("push", async ({ n }) => n);
Tool.register("add", { properties: { a: {}, b: {}, _outputPath: place } });
Activity.register("add", async ({ a, b }) => a + b);
Tool.register("tell", { properties: { value: {}, _outputPath: place } });
Activity.register("tell", async ({ value }) => Array.isArray(value) ? value.filter((n, at) => n !== at - 1) : value);
Tool.register("count", { properties: { value: {}, _outputPath: place } });
Activity.register("count", async ({ value }) => value.length);
const agent = Agent({ name: "agent", model: "m", context: () => [
  { type: "state", v0: 0 },
  { type: "data", kind: "part", data: { list: ["first"] } },
  ...["push", "add", "tell", "count"].map((tool) => ({ type: "tool", tool })),
] });
export default defineFlow({ kind: "thousand", actions: { go: { block: agent } } });
"#;
    let calls = |calls: Vec<Value>| json!({ "structuredOutput": { "calls": calls, "output": null } });
    let push = |n| json!({ "_tool": "push", "n": n, "_outputPath": "†part.list" });
    let add =
        |n| json!({ "_tool": "add", "a": format!("†state.v{n}"), "b": 1, "_outputPath": format!("†state.v{}", n + 1) });
    let told_of =
        |tool: &str, value: String| json!({ "_tool": tool, "value": value, "_outputPath": format!("†{tool}.result") });
    let replies = json!({ "generators": { "agent": [
        calls((0..COUNT).map(push).collect()),
        calls(vec![told_of("tell", "†part.list".to_owned()), told_of("count", "†part.list".to_owned())]),
        calls((0..COUNT).map(add).collect()),
        calls(vec![told_of("tell", format!("†state.v{COUNT}"))]),
        { "structuredOutput": { "calls": [], "output": "done" } },
    ] } });
    let place = Place::new().file("flows/thousand.ts", flow).file("flows/thousand.mock.json", &replies.to_string());
    let (run, seconds) = timed(&place, "run thousand go --user u --mock --data thousand.db --json");
    assert_eq!(run["output"], "done", "{run}");
    let events = events(&place, "thousand.db", run["requestId"].as_str().expect("an id"));
    let of = |kind: &str, path: &str| {
        let found = events.iter().find(|event| event["kind"] == kind && event["path"] == path);
        found.unwrap_or_else(|| panic!("no {kind} of {path}"))["payload"].clone()
    };
    let told = |path: &str| of("block_finished", path)["output"]["value"].clone();
    assert_eq!(
        told("root/tick[1]/call:tell[0]/activity:tell"),
        json!(["first"]),
        "what is not where its order puts it"
    );
    assert_eq!(told("root/tick[1]/call:count[1]/activity:count"), COUNT + 1);
    assert_eq!(told("root/tick[3]/call:tell[0]/activity:tell"), COUNT);
    let last = of("block_started", &format!("root/tick[2]/call:add[{}]", COUNT - 1))["input"]["value"].clone();
    let earlier = last["earlier"].as_array().map_or(0, Vec::len);
    assert_eq!(earlier + last["moreEarlier"].as_u64().unwrap_or_default() as usize, COUNT - 1, "{last}");
    assert!(seconds < 30.0, "it took {seconds} s of a processor");
}

/// The document of a command, and its processor time, which does not include other tests.
fn timed(place: &Place, line: &str) -> (Value, f64) {
    let mut command = Command::new("bash");
    command.args(["-c", "TIMEFORMAT=%U; time \"$0\" \"$@\""]).arg(program()).args(line.split(' '));
    let output = command.current_dir(place.dir()).output().expect("bash is there");
    let (told, text) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    let seconds = told.lines().last().and_then(|line| line.trim().parse().ok());
    let seconds = seconds.unwrap_or_else(|| panic!("no time in {told}"));
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{told}")), seconds)
}

/// If an Activity is edited between the question and the approval, the run must record it.
#[test]
fn an_activity_edited_between_question_and_approval_is_reported() {
    let flow = |pays: &str| {
        format!(
            "import {{ defineFlow }} from \"@flow-state-dev/core\";\nimport {{ Activity, Agent, Tool }} from \"acts\";\n\
             Tool.register(\"pay\", {{ properties: {{ amount: {{}}, _outputPath: {{ type: \"string\" }} }} }});\n\
             Activity.register(\"pay\", ({{ amount }}) => {pays});\n\
             const agent = Agent({{ name: \"agent\", model: \"m\", context: () => [{{ type: \"tool\", tool: \"pay\" }}], confirm: true }});\n\
             export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: agent }} }} }});\n"
        )
    };
    let solution = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let calls = json!([{ "_tool": "pay", "amount": 5, "_outputPath": "†state.paid" }]);
    let replies =
        json!({ "generators": { "agent": [solution(calls, Value::Null), solution(json!([]), json!("done"))] } });
    let place = Place::new().file("flows/main.ts", &flow("amount")).file("flows/main.mock.json", &replies.to_string());
    for (request, pays, drifts) in [("same", "amount", 0), ("edited", "amount * 2", 1)] {
        place.write("flows/main.ts", flow("amount"));
        let asked = place.ask(&format!("run main go --user ada --request {request} --mock"));
        assert_eq!(asked.code, Some(4), "{asked}");
        place.write("flows/main.ts", flow(pays));
        assert_eq!(place.get(&format!("resume {request} --approve"))["output"], "done");
        let told = place.get(&format!("events {request} --kind drift"));
        assert_eq!(told.as_array().map(Vec::len), Some(drifts), "{told}");
        if drifts == 1 {
            let text = told[0]["payload"]["text"].as_str().unwrap_or_default();
            assert!(text.contains("changed after the question was asked"), "{told}");
        }
    }
}

#[test]
fn the_error_of_a_context_that_is_not_a_list_shows_the_value() {
    for given in ["undefined", "null", "7"] {
        let flow = format!(
            "import {{ defineFlow }} from \"@flow-state-dev/core\";\nimport {{ Agent }} from \"acts\";\n\
             const agent = Agent({{ name: \"agent\", model: \"m\", context: () => {given} }});\n\
             export default defineFlow({{ kind: \"acts\", actions: {{ go: {{ block: agent }} }} }});\n"
        );
        let place = Place::new().file("flows/acts.ts", &flow).file("flows/acts.mock.json", &replies().to_string());
        let answer = place.ask("run acts go --user u --mock");
        assert!(answer.to_string().contains(&format!("}}, not {given}")), "{answer}");
    }
}
