//! Tool calls of an agent's turn: each is a row, whatever it names, and its result and its id are kept.

use serde_json::{Value, json};
use tests::bench::Place;

const AGENT: &str = r#"
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";
export const works = defineTool("Works", z.object({}), () => "ok");
export const kept = defineTool("Fails with more", z.object({}), () => ({ status: "error", error: "sold out", error_code: "E7", error_data: { left: 0 } }));
export const plain = defineTool("Answers a text", z.object({}), () => ({ status: "success", content: "as it is", extra: 5 }));
export const files = defineTool("Attaches", z.object({}), () => ({ status: "success", result: "r", attachments: [{ name: "a.txt", mimeType: "text/plain", data: "aGk=" }] }));
export const slow = defineTool("Waits", z.object({}), async () => { await new Promise((done) => setTimeout(done, WAIT)); return "waited"; });
definePrompt({ name: "part", prompt: "Help.", model: "m", toolDescription: "Helps", tools: ["works"] });
definePrompt({ name: "guide", prompt: "Talk of {{topic}}.", model: "m", toolDescription: "Guides", requiredSchema: z.object({ topic: z.string() }) });
defineAgent({ name: "other", sideA: { prompt: "guide" }, toolDescription: "Talks" });
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, includePastTools: true, tools: ["works", "kept", "plain", "files", "slow", "part", "other"] });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;

fn agent(wait: u32) -> String {
    AGENT.replace("WAIT", &wait.to_string())
}

fn call(name: &str, args: Value) -> Value {
    json!({ "name": name, "args": args })
}

/// Runs the agent with these replies of `main`; `part` and `guide` answer by a tool call and by a text.
fn ran(replies: Value) -> Place {
    let more = [json!({ "toolCalls": [call("works", json!({}))] }), json!({ "toolCalls": [call("works", json!({}))] })];
    let mock = json!({ "generators": { "main": replies, "part": more, "guide": [{ "text": "Hello." }] } });
    let place = Place::new().file("flows/agent.ts", &agent(0)).file("flows/agent.mock.json", &mock.to_string());
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    let ended = place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    assert_eq!(ended["status"], "completed", "{ended}");
    place
}

/// The row at a path: its status, and the message of its error.
#[track_caller]
fn row(place: &Place, path: &str) -> (Value, Value) {
    let block = place.get(&format!("block r {path}"))["block"].clone();
    let shown = place.run(&["show", "r"]).stdout;
    let segment = path.rsplit('/').next().unwrap_or_default();
    assert!(shown.contains(segment), "{segment} is no row\n{shown}");
    (block["status"].clone(), block["error"]["message"].clone())
}

/// Every path that a document names.
fn paths(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("root/") && !text.contains(' ') => found.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| paths(one, found)),
        Value::Object(fields) => fields.values().for_each(|one| paths(one, found)),
        _ => {}
    }
}

#[test]
fn every_call_of_a_turn_is_a_row() {
    let place = ran(json!([
        { "toolCalls": [
            call("works", json!({})), call("missing", json!({ "x": 1 })), call("part", json!({})),
            call("agentOfAnotherFile", json!({})),
        ] },
        { "toolCalls": [call("works", json!({})), call("part", json!({})), call("other", json!({ "topic": 5 }))] },
        { "text": "" },
        { "toolCalls": [call("other", json!({ "topic": "cats" }))] },
    ]));
    for (path, status, why) in [
        ("root/turn[0]:a/tool:works[0.0]", "completed", None),
        ("root/turn[0]:a/tool:missing[0.1]", "failed", Some("Tool not found: missing")),
        ("root/turn[0]:a/prompt:part", "completed", None),
        ("root/turn[0]:a/tool:agentOfAnotherFile[0.3]", "failed", Some("Tool not found: agentOfAnotherFile")),
        ("root/turn[1]:a/tool:works[0.0]", "completed", None),
        ("root/turn[1]:a/prompt:part", "completed", None),
        ("root/turn[1]:a/handoff:other[0.2]", "failed", Some("Block \"other\" input validation failed at \"topic\"")),
        ("root/turn[2]:a/tool:invalid_assistant_response[0.0]", "failed", Some("neither text nor tool calls")),
        ("root/turn[3]:a/handoff:other[0.0]", "completed", None),
    ] {
        let (found, error) = row(&place, path);
        assert_eq!(found, status, "{path}: {error}");
        assert_eq!(why.is_some(), error.is_string(), "{path}: {error}");
        let is_told = why.is_none_or(|why| error.as_str().is_some_and(|error| error.contains(why)));
        assert!(is_told, "{path}: {error}");
    }
    // Every path that is named opens, and every call of a turn names one.
    let mut named = Vec::new();
    for turn in 0..5 {
        let block = place.get(&format!("block r root/turn[{turn}]:a"));
        let tools = block["modelCalls"][0]["tools"].as_array().cloned().unwrap_or_default();
        assert!(tools.iter().all(|tool| tool["path"].is_string()), "turn {turn}: {tools:?}");
        paths(&block, &mut named);
    }
    paths(&place.get("show r"), &mut named);
    named.sort_unstable();
    named.dedup();
    assert!(named.len() >= 15, "{named:?}");
    for path in named {
        let opened = place.ask(&format!("block r {path}"));
        assert_eq!(opened.code, Some(0), "{path}: {opened}");
    }
    assert_eq!(place.ask("replay r").json()["identical"], true);
    assert_eq!(place.get("check --data")["ok"], true);
}

/// What a tool says of its failure is kept with it, a content is told as a text, and what a message cannot hold is said.
#[test]
fn what_a_tool_returns_is_kept_or_said() {
    let calls: Vec<Value> = ["kept", "plain", "files"].map(|name| call(name, json!({}))).to_vec();
    let place = ran(json!([{ "toolCalls": calls }, { "text": "Done." }]));
    let items = place.get("items --request r --type block_tool_output");
    let failed = &items[0]["error"];
    let expected = json!({ "name": "Error", "message": "sold out", "code": "E7", "details": { "left": 0 } });
    assert_eq!(failed, &expected, "{items}");
    let rows = place.get("state --request r")["flowState"]["messageHistory"].clone();
    let told: Vec<&Value> =
        rows.as_array().into_iter().flatten().filter(|row| row["role"] == "tool").map(|row| &row["content"]).collect();
    assert_eq!(told, ["Failed to execute tool: sold out", "as it is", "r"]);
    let logged = place.get("events r --kind logged").to_string();
    for (tool, left_out) in [("plain", "extra"), ("files", "attachments")] {
        let line = format!("tool {tool}: {left_out} of its result are not kept");
        assert!(logged.contains(&line), "{line}\n{logged}");
    }
    assert!(!logged.contains("tool kept:"), "{logged}");
}

/// A hook gives the failure of a call another reason: its item tells it as the message does.
#[test]
fn a_reason_of_a_hook_is_told_by_the_item() {
    let hook =
        r#"defineHook("after_tool_call_failure", (flow, call, result) => ({ ...result, error: "closed today" }));"#;
    let flow = agent(0).replace("import { defineAgent,", "import { defineAgent, defineHook,");
    let flow = flow.replace("export default", &format!("{hook}\nexport default"));
    let replies = json!([{ "toolCalls": [call("works", json!("{ not JSON"))] }, { "text": "Done." }]);
    let mock = json!({ "generators": { "main": replies } });
    let place = Place::new().file("flows/agent.ts", &flow).file("flows/agent.mock.json", &mock.to_string());
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    let ended = place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    assert_eq!(ended["status"], "completed", "{ended}");
    let items = place.get("items --request r --type block_tool_output");
    assert_eq!(items[0]["error"]["message"], "closed today", "{items}");
    let told = place.get("state --request r")["flowState"]["messageHistory"].to_string();
    assert!(told.contains("Failed to execute tool: closed today"), "{told}");
    assert_eq!(place.ask("replay r").json()["identical"], true);
}

/// A process dies in a turn; another request of the thread uses the ids of the turn's calls; the turn is resumed. Its
/// calls have the ids that they had, a model is told each result with its own call, and the replay is the same.
#[test]
fn a_resumed_turn_keeps_the_ids_of_its_calls() {
    let place = Place::new().file("flows/agent.ts", &agent(5_000));
    let same = |name: &str, id: &str| json!({ "id": id, "name": name, "args": {} });
    let mock = |main: Value| {
        let part = json!([{ "toolCalls": [same("works", "call_1")] }]);
        json!({ "generators": { "main": main, "part": part } }).to_string()
    };
    let text = |text: &str| json!({ "text": text });
    let first = json!([{ "toolCalls": [same("part", "call_1"), same("slow", "call_2")] }, text("end")]);
    place.write("first.json", mock(first));
    let second = json!([{ "toolCalls": [same("works", "call_1"), same("plain", "call_2")] }, text("second")]);
    place.write("second.json", mock(second));
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    let line = |request: &str, mock: &str| {
        format!("run agent message --user ada --session s --request {request} --input @talk.json --mock={mock}")
    };
    let going = place.start(&line("r", "first.json"));
    place.until_status("r", "in_progress");
    place.until("the tool waits", |place| {
        // Refused until the block is there.
        let begun = place.ask("events r --kind block_started --path root/turn[0]:a/tool:slow[0.1]");
        (begun.code == Some(0) && !begun.json().as_array()?.is_empty()).then_some(())
    });
    going.kill();
    assert_eq!(place.get(&line("second", "second.json"))["output"]["response"], "second");
    let resumed = place.get("resume r --mock=first.json");
    assert_eq!(resumed["output"]["response"], "end", "{resumed}");
    let items = place.get("items --request r --type block_tool_output");
    let ids: Vec<Value> =
        items.as_array().into_iter().flatten().map(|item| item["toolCall"]["callId"].clone()).collect();
    assert!(ids.contains(&json!("call_1")) && ids.contains(&json!("call_2")), "{items}");
    assert!(!ids.iter().any(|id| id.as_str().is_some_and(|id| id.starts_with("call_2_"))), "{items}");
    let whole = place.get("block r root/turn[1]:a")["modelCalls"][0]["request"]["messages"].clone();
    let results: Vec<Value> = whole
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"][0]["output"]["value"].clone())
        .collect();
    // The first one is what the sub-prompt came to.
    assert_eq!(results[1..], [json!("waited"), json!("ok"), json!("as it is")], "{whole}");
    for request in ["r", "second"] {
        assert_eq!(place.ask(&format!("replay {request}")).json()["identical"], true, "{request}");
    }
}
