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
    refused(&self::place(), "--at root/tick[0]/request --set state.error=1", &["fork at one, --at root/tick[0]"]);
}
