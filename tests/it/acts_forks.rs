//! Forks of requests with Calls: a Call gets other arguments, and the state that Calls wrote is seen and edited.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::forking::forked;

const FLOW: &str = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
Tool.register("refund", { properties: { amount: { type: "number" }, _scopes: { const: ["state"] }, _outputPath: { const: "†state.receipt || †state.error" } }, required: ["amount"] });
Activity.register("refund", async ({ amount }) => { if (amount > 100) throw new Error("limit is 100"); return { id: `r${amount}` }; });
Tool.register("odd", { properties: { _outputPath: { const: "†state.x || †state.y" } } });
Activity.register("odd", () => { throw { odd: 1 }; });
const agent = Agent({ name: "payer", model: "m", context: () => [
  { type: "state", existing: "old" },
  ...["refund", "odd"].map((tool) => ({ type: "tool", tool })),
] });
export default defineFlow({ kind: "pay", actions: { go: { block: agent } } });
"#;

fn place() -> Place {
    let solution = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let first = json!([{ "_tool": "refund", "amount": 500 }, { "_tool": "odd" }]);
    let mock = json!({ "generators": { "payer": [solution(first, Value::Null), solution(json!([]), json!("done"))] } });
    let place = Place::new().file("flows/pay.ts", FLOW).file("flows/pay.mock.json", &mock.to_string());
    let ended = place.get("run pay go --user ada --session s --request r --input {} --mock");
    assert_eq!(ended["output"], "done", "{ended}");
    place
}

#[track_caller]
fn refused(place: &Place, line: &str, words: &[&str]) {
    for line in [format!("fork r {line} --mock"), format!("fork r {line} --mock --plan")] {
        let answer = place.ask(&line);
        assert_eq!(answer.code, Some(2), "{line}: {answer}");
        assert!(words.iter().all(|word| answer.stderr.contains(word)), "{line}: {answer}");
    }
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1), "nothing was begun");
}

#[test]
fn a_call_gets_other_arguments() {
    let place = place();
    let call = "root/tick[0]/call:refund[0]";
    let fork = forked(&place, &format!("--at {call} --input {{\"amount\":5}}"));
    let activity = place.get(&format!("block {fork} {call}/activity:refund"));
    assert_eq!(activity["output"], json!({ "id": "r5" }), "{activity}");
    assert_eq!(place.get(&format!("state --request {fork}"))["callState"]["receipt"], json!({ "id": "r5" }));
    // The whole plan, as `block` shows it, is one, too.
    let mut plan = place.get(&format!("block r {call}"))["input"].clone();
    plan["call"]["amount"] = 6.into();
    place.write("plan.json", plan.to_string());
    let fork = forked(&place, &format!("--at {call} --input @plan.json"));
    assert_eq!(place.get(&format!("block {fork} {call}"))["output"], json!({ "id": "r6" }));
}

#[test]
fn an_input_that_a_part_of_a_call_would_not_read_is_refused() {
    let place = place();
    let call = "root/tick[0]/call:refund[0]";
    refused(&place, &format!("--at {call} --input 7"), &["an object like {\"amount\":500}, and not 7"]);
    refused(&place, &format!("--at {call} --input {{\"amount\":\"x\"}}"), &["cannot be called so", "amount"]);
    let words = ["an object with call, scoped, as recorded", &format!("--at {call} --input")];
    refused(&place, &format!("--at {call}/activity:refund --input {{\"amount\":5}}"), &words);
    refused(&place, "--at root/tick[0]/request --input 7", &["an object with tick, context, as recorded"]);
    refused(&place, "--at root/tick[0] --input 7", &["an object with name, tick, depth, context, as recorded"]);
}

/// The names that references use work for people, too.
#[test]
fn the_state_of_calls_is_seen_and_edited() {
    let place = place();
    let state = place.get("state --request r");
    let failure = json!({ "name": "Error", "message": "limit is 100" });
    assert_eq!((&state["callState"]["existing"], &state["callState"]["error"]), (&json!("old"), &failure), "{state}");
    let thrown = &state["callState"]["y"]["message"];
    assert_eq!(thrown, "Unknown block execution error: {\"odd\":1}", "{state}");
    let history = place.get("history r --path state.error.message");
    let write = &history[0];
    assert_eq!(
        (&write["by"], &write["old"], &write["new"]),
        (&json!("root/tick[0]"), &Value::Null, &json!("limit is 100"))
    );
    assert_eq!(place.get("history r --path state.existing"), json!([]));
    let fork = forked(&place, "--at root/tick[0] --set state.error=1 --set state.more.deep=2");
    let state = place.get(&format!("state --request {fork}"))["callState"].clone();
    assert_eq!((&state["error"], &state["more"]["deep"]), (&json!(1), &json!(2)), "{state}");
    // No tick wrote what the fork was begun with; the tick's own write is before it.
    let first = place.get(&format!("show {fork}"))["request"]["forkedFrom"]["seq"].as_u64().map(|seq| seq + 1);
    let edit = json!([null, "edit", failure, 1]);
    for (address, expected) in [
        ("state.error", vec![json!(["root/tick[0]", "patch", null, failure]), edit]),
        ("state.more.deep", vec![json!([null, "edit", null, 2])]),
    ] {
        let history = place.get(&format!("history {fork} --path {address}"));
        let rows: Vec<&Value> = history.as_array().into_iter().flatten().collect();
        let shown: Vec<Value> =
            rows.iter().map(|row| json!([row["by"], row["operation"], row["old"], row["new"]])).collect();
        assert_eq!(shown, expected, "{history}");
        assert_eq!(rows.last().and_then(|row| row["committed"].as_u64()), first, "{history}");
    }
    // All events of the fork's own have the edit, also those before the one that records it.
    let first = first.expect("it is a fork");
    let edits = place.get(&format!("events {fork} --kind output_edited"));
    let recorded = edits[0]["seq"].as_u64().expect("a number");
    assert!(recorded >= first, "{edits}");
    for seq in first - 1..=recorded {
        let state = place.get(&format!("state --request {fork} --at {seq}"));
        let expected = if seq < first { failure.clone() } else { json!(1) };
        assert_eq!(state["callState"]["error"], expected, "{seq}: {state}");
    }
    refused(&self::place(), "--at root/tick[0]/request --set state.error=1", &["fork at one, --at root/tick[0]"]);
}

#[test]
fn what_is_written_for_an_instance_is_seen_and_has_its_writer() {
    let flow = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
const reserved = { _instance: { type: "string" }, _outputPath: { const: "†state.draft" } };
Tool.register("draft", { properties: { text: {}, ...reserved } });
Activity.register("draft", ({ text }) => text);
const agent = Agent({ name: "desk", model: "m", context: () => [
  { type: "data", kind: "ticket", data: { n: 1 }, _instance: "T1" },
  { type: "data", kind: "ticket", data: { n: 2 }, _instance: "T2" },
  { type: "tool", tool: "draft" },
] });
export default defineFlow({ kind: "desk", actions: { go: { block: agent } } });
"#;
    let draft = |instance: &str, text: &str| json!({ "_tool": "draft", "text": text, "_instance": instance });
    let solution = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let replies = json!({ "generators": { "desk": [
        solution(json!([draft("T2", "two")]), Value::Null),
        solution(json!([draft("T1", "one"), { "_tool": "draft", "text": "all" }]), Value::Null),
        solution(json!([]), json!("done")),
    ] } });
    let place = Place::new().file("flows/desk.ts", flow).file("flows/desk.mock.json", &replies.to_string());
    assert_eq!(place.get("run desk go --user ada --request r --input {} --mock")["output"], "done");
    let state = place.get("state --request r");
    assert_eq!(state["callState"], json!({ "draft": "all" }), "{state}");
    assert_eq!(state["callInstances"], json!({ "T1": { "draft": "one" }, "T2": { "draft": "two" } }), "{state}");
    let history = place.get("history r --path state.draft");
    let rows: Vec<Value> = history
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| json!([row["by"], row["instance"], row["old"], row["new"]]))
        .collect();
    let row = |tick: u32, instance: Value, new: &str| json!([format!("root/tick[{tick}]"), instance, null, new]);
    let expected = [row(0, json!("T2"), "two"), row(1, Value::Null, "all"), row(1, json!("T1"), "one")];
    assert_eq!(rows, expected, "{history}");
    let text = place.run(&["history", "r", "--path", "state.draft"]).stdout;
    assert!(text.contains("root/tick[0] for T2") && !text.contains("root/tick[1] for T2"), "{text}");
    let text = place.run(&["state", "--request", "r"]).stdout;
    assert!(text.contains("state (of the calls, for T1)"), "{text}");
}
