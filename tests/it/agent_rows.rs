//! What a timeline shows of an agent's turn: each call of a hook, and tools that returned an error.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const AGENT: &str = r#"
import { defineAgent, defineHook, definePrompt, defineTool } from "@standardagents/builder";
export const fails = defineTool("Fails", () => ({ status: "error", error: "out of stock" }));
export const works = defineTool("Works", () => "raw");
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, includePastTools: true, tools: ["fails", "works"] });
defineHook("filter_messages", (flow, messages) => messages.filter((message) => !message.content?.includes("secret")));
defineHook("after_tool_call_success", (flow, call, result) => ({ ...result, result: "polished" }));
defineHook("after_update_message", () => { throw new Error("a hook broke"); });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;

const REPLIES: &str = r#"{ "generators": { "main": [
    { "toolCalls": [{ "name": "fails", "args": {} }, { "name": "works", "args": {} }] },
    { "text": "Done." }
] } }"#;

fn place() -> Place {
    let place = Place::new().file("flows/agent.ts", AGENT).file("flows/agent.mock.json", REPLIES);
    place.write("talk.json", r#"{ "content": "my secret" }"#);
    let ended = place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    assert_eq!(ended["output"]["response"], "Done.", "{ended}");
    place
}

/// Each call of a hook is an event with what it got and what it made of it, a row, and a block to look into. Of lists
/// what differs is kept.
#[test]
fn a_call_of_a_hook_is_seen_with_before_and_after() {
    let place = place();
    let calls = place.get("events r --kind hook_returned");
    let of = |name: &str| -> Value {
        let found = calls.as_array().expect("events").iter();
        found.filter(|event| event["path"].as_str().is_some_and(|path| path.contains(name))).cloned().collect()
    };
    let filters = of("hook:filter_messages");
    assert_eq!(filters[0]["path"], "root/turn[0]:a/hook:filter_messages[0]", "{calls}");
    let (before, after) = (&filters[0]["payload"]["before"]["value"], &filters[0]["payload"]["after"]["value"]);
    assert_eq!((&before[0]["content"], after), (&json!("my secret"), &json!([])), "{calls}");
    assert_eq!(before.as_array().map(Vec::len), Some(1), "{calls}");
    let results = of("hook:after_tool_call_success");
    let expected = json!([{ "payload": {
        "before": { "value": { "status": "success", "result": "raw" } },
        "after": { "value": { "status": "success", "result": "polished" } },
        "…": 0
    }, "…": 0 }]);
    assert_matches("the result", &results, &expected);
    let rows = place.get("show r --tree --unfolded --filter kind:hook");
    let rows: Vec<&Value> = rows["rows"].as_array().expect("rows").iter().filter(|row| row["kind"] == "hook").collect();
    let named = |name: &str| rows.iter().filter(|row| row["name"] == name).count();
    assert_eq!((named("filter_messages"), named("after_tool_call_success")), (2, 1), "{rows:#?}");
    let broken = rows.iter().find(|row| row["name"] == "after_update_message").expect("its row");
    assert_eq!((&broken["status"], &broken["error"]), (&json!("failed"), &json!("a hook broke")), "{broken}");
    let detail = place.run(&["block", "r", "root/turn[0]:a/hook:after_tool_call_success[0]"]);
    for line in
        ["hook \"after_tool_call_success\"", "input   {\"status\":\"success\",\"result\":\"raw\"}", "\"polished\""]
    {
        assert!(detail.stdout.contains(line), "{line}\n{detail}");
    }
}

/// A hook runs as a part of its block, so a fork leaves at the block. The refusal says which that is, and the state at
/// the call of the hook is shown.
#[test]
fn a_fork_at_a_call_of_a_hook_is_told_where_to_leave() {
    let place = place();
    let (turn, hook) = ("root/turn[1]:a", "root/turn[1]:a/hook:filter_messages[0]");
    let began = place.get(&format!("block r {turn}"))["block"]["seqStart"].as_u64().expect("a number");
    let before = (began - 1).to_string();
    for more in ["", " --output []", " --input []"] {
        let answer = place.ask(&format!("fork r --at {hook}{more} --mock"));
        assert_eq!(answer.code, Some(2), "{answer}");
        for words in ["is a call of a hook", &format!("--at {turn}, or"), &format!("with --at {before}")] {
            assert!(answer.stderr.contains(words), "{words}\n{answer}");
        }
    }
    for at in [turn, &before] {
        let fork = place.get(&format!("fork r --at {at} --mock"));
        assert_eq!(fork["status"], "completed", "{fork}");
    }
    let state = place.get(&format!("state --request r --at {hook}"));
    assert_eq!(state["flowState"]["turnCount"], 1, "{state}");
    let unknown = place.ask("fork r --at root/turn[9]:a/tool:works[0.1] --mock");
    assert_eq!(unknown.code, Some(6), "{unknown}");
    assert!(unknown.stderr.contains("there are: root/turn[0]:a/tool:works[0.1]"), "{unknown}");
}

/// A tool that returned an error completed, and its call failed: its row says so, and who looks for failures finds it.
#[test]
fn a_tool_that_returns_an_error_is_found_among_failures() {
    let place = place();
    let path = "root/turn[0]:a/tool:fails[0.0]";
    let shown = place.get("show r");
    let block = shown["blocks"].as_array().expect("blocks").iter().find(|block| block["path"] == path).expect("it ran");
    assert_eq!(block["status"], "returned_error", "{block}");
    let text = place.run(&["show", "r"]);
    assert!(text.stdout.contains("✗ returned an error"), "{text}");
    for filter in ["status:failed", "status:returned_error"] {
        let rows = place.get(&format!("show r --tree --unfolded --filter {filter}"));
        let found = rows["rows"].as_array().expect("rows").iter().find(|row| row["path"] == path).cloned();
        let found = found.unwrap_or_else(|| panic!("{filter}: {rows}"));
        assert_eq!((&found["status"], &found["error"]), (&json!("returned_error"), &json!("out of stock")), "{rows}");
    }
    let finished = place.get("events r --kind block_finished");
    let marked = finished.as_array().expect("events").iter().filter(|event| event["payload"]["returnedError"] == true);
    assert_eq!(marked.count(), 1, "{finished}");
}
