//! Forks of agents' requests: a fork at any place of a turn replays identically, and an edit has an effect or is
//! refused.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::forking::forked;
use tests::pattern::assert_matches;

const AGENT: &str = r#"
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";
export const count = defineTool("Counts", z.object({ by: z.number() }), async (flow, { by }) => {
  await flow.storage.put("n", ((await flow.storage.get("n")) ?? 0) + by);
  flow.context.n = by;
  return `n is ${by}`;
});
export const odd = defineTool("Throws", () => { throw { odd: 1 }; });
definePrompt({ name: "part", prompt: "Help with {{text}}.", model: "m", toolDescription: "Helps", requiredSchema: z.object({ text: z.string() }) });
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, includePastTools: true, tools: ["count", "odd", "part"] });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;

const REPLIES: &str = r#"{ "generators": {
  "main": [
    { "toolCalls": [{ "name": "odd", "args": {} }, { "name": "count", "args": { "by": 1 } }] },
    { "toolCalls": [{ "name": "part", "args": { "text": "one" } }] },
    { "text": "Done." }
  ],
  "part": [{ "text": "Helped." }]
} }"#;

fn place() -> Place {
    let place = Place::new().file("flows/agent.ts", AGENT).file("flows/agent.mock.json", REPLIES);
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    let ended = place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    assert_eq!(ended["output"]["response"], "Done.", "{ended}");
    place
}

#[track_caller]
fn refused(place: &Place, line: &str, words: &[&str]) {
    let before = place.get("requests").as_array().map(Vec::len);
    for line in [format!("fork r {line} --mock"), format!("fork r {line} --mock --plan")] {
        let answer = place.ask(&line);
        assert_eq!(answer.code, Some(2), "{line}: {answer}");
        assert!(words.iter().all(|word| answer.stderr.contains(word)), "{line}: {answer}");
    }
    assert_eq!(place.get("requests").as_array().map(Vec::len), before, "nothing was begun");
}

#[test]
fn a_fork_at_any_place_of_a_turn_replays_identically() {
    let place = place();
    for line in [
        "--at root/message",
        "--at root/turn[0]:a/tool:odd[0.0]",
        "--at root/turn[0]:a/tool:count[0.1]",
        "--at root/turn[0]:a/tool:count[0.1] --set context.n=7",
        "--at root/turn[0]:a/tool:count[0.1] --set storage.n=7",
        "--at root/turn[0]:a",
        "--at root/turn[0]:a --set stopped=true",
        "--at root/turn[1]:a/prompt:part",
        "--at root/turn[1]:a --set storage.n=7",
        "--at root/turn[2]:a",
        "--at root/turn[2]:a --set context.n=7",
        "--at root/turn[0]:a --output {\"content\":\"7\"}",
    ] {
        let fork = forked(&place, line);
        let session = place.get(&format!("show {fork}"))["request"]["sessionId"].clone();
        let state = place.get(&format!("state --session {}", session.as_str().expect("a session")));
        let kept = state["session"]["messages"].as_object().expect("messages").len();
        let all = place.get(&format!("state --request {fork}"))["flowState"]["messageHistory"].clone();
        assert!(kept >= all.as_array().map_or(0, Vec::len), "{line}: {state}\n{all}");
    }
    // The same for a fork of a fork.
    let first = forked(&place, "--at root/turn[0]:a/tool:count[0.1]");
    let again = place.get(&format!("fork {first} --at root/turn[1]:a/prompt:part --mock"));
    let id = again["requestId"].as_str().expect("an id");
    assert_eq!(place.ask(&format!("replay {id}")).json()["identical"], true, "{again}");
    assert_eq!(place.get("verify --all")["differs"], 0);
    assert_eq!(place.get("check --data")["ok"], true);
}

#[test]
fn an_edit_of_a_field_without_effect_is_refused() {
    let place = place();
    let names = "currentSide, turnCount, stopped, stoppedBy, sequence, context, thread, storage";
    let at = "--at root/turn[0]:a";
    for (set, why) in [
        ("env.REGION=\"x\"", "env is read from flowglass.json"),
        ("messageHistory=[]", "messageHistory is made of the stored messages"),
        ("agentConfig.name=\"x\"", "the agent is what its file defines"),
        ("sequencer.anything=1", "nothing reads \"anything\""),
        ("thread.instance.id=\"mine\"", "a fork has a session of its own"),
        ("thread.metadata.id=\"mine\"", "a fork has a session of its own"),
        ("thread={}", "a fork has a session of its own"),
        ("flowId=\"x\"", "begin with session"),
        ("nothing=1", "begin with session"),
    ] {
        refused(&place, &format!("{at} --set {set}"), &[why, names]);
    }
    refused(&place, &format!("{at} --set currentSide=\"z\""), &["currentSide must be \"a\" or \"b\""]);
    refused(&place, &format!("{at} --set stopped=1"), &["stopped must be true or false"]);
    refused(&place, &format!("{at} --set context=1"), &["context must be an object"]);
    refused(&place, &format!("{at} --set thread=5"), &["thread must be an object"]);
    let history = place.ask("history r --path nothing.n");
    assert!(history.stderr.contains("in an agent's request also currentSide, turnCount"), "{history}");
    let fork = forked(&place, &format!("{at} --set context.n=9"));
    let state = place.get(&format!("state --request {fork}"));
    assert_eq!(state["flowState"]["context"]["n"], 9, "{state}");
}

/// Tools, hooks and people see the id of the fork's own thread, and a replay of what it keeps the id of the other one.
#[test]
fn a_fork_has_the_ids_of_its_own_thread() {
    let agent = r#"
import { defineAgent, defineHook, definePrompt, defineTool } from "@standardagents/builder";
const ids = (flow) => [flow.threadId, flow.thread.instance.id, flow.thread.metadata.id].join(" ");
export const where = defineTool("Says where it is", (flow) => ids(flow));
defineHook("after_tool_call_success", (flow, call, result) => ({ ...result, result: `${result.result} ${ids(flow)}` }));
definePrompt({ name: "main", prompt: "Work.", model: "m", tools: ["where"] });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;
    let call = json!({ "toolCalls": [{ "name": "where", "args": {} }] });
    let mock = json!({ "generators": { "main": [call, call, { "text": "Done." }] } });
    let place = Place::new().file("flows/agent.ts", agent).file("flows/agent.mock.json", &mock.to_string());
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    let fork = forked(&place, "--at root/turn[0]:a --set thread.metadata.note=1");
    let session = place.get(&format!("show {fork}"))["request"]["sessionId"].clone();
    let session = session.as_str().expect("a session");
    let state = place.get(&format!("state --request {fork}"))["flowState"].clone();
    let thread = &state["thread"];
    assert_eq!((&thread["instance"]["id"], &thread["metadata"]["id"]), (&json!(session), &json!(session)), "{state}");
    assert_eq!(thread["metadata"]["note"], 1, "{state}");
    let rows = state["messageHistory"].as_array().cloned().unwrap_or_default();
    let said: Vec<&str> =
        rows.iter().filter(|row| row["role"] == "tool").filter_map(|row| row["content"].as_str()).collect();
    assert_eq!(said, [["s"; 6].join(" "), [session; 6].join(" ")], "{state}");
}

/// A fork whose edit gives the turn to a person, or stops, ends at its first event, and says why.
#[test]
fn a_fork_that_ends_the_execution_says_why() {
    let place = place();
    for (set, reason, awaits) in
        [("currentSide=\"b\"", "awaiting_human", true), ("stopped=true", "stopped_by_code", false)]
    {
        for (at, turns) in [("root/message", 0), ("root/turn[0]:a", 1)] {
            let fork = forked(&place, &format!("--at {at} --set {set}"));
            let output = place.get(&format!("show {fork}"))["output"].clone();
            let expected = json!({
                "turnCount": turns, "stopped": true, "stoppedBy": "a", "stopReason": reason, "awaitingHuman": awaits,
                "…": 0,
            });
            assert_matches(&format!("{at} {set}"), &output, &expected);
        }
    }
}

#[test]
fn a_fork_can_give_a_sub_prompt_other_arguments() {
    let place = place();
    let fork = forked(&place, "--at root/turn[1]:a/prompt:part --input {\"text\":\"two\"}");
    let asked = place.get(&format!("events {fork} --kind effect_started --path root/turn[1]:a/prompt:part"));
    let told = asked.as_array().and_then(|asked| asked.last()).map(|asked| asked["payload"].to_string());
    assert!(told.is_some_and(|told| told.contains("Help with two.")), "{asked}");
    let line = "--at root/turn[1]:a/prompt:part --input 7";
    refused(&place, line, &["an object like {\"text\":\"one\"}, and not 7"]);
}

#[test]
fn edits_of_turns_without_effect_are_refused() {
    let place = place();
    refused(&place, "--at root/turn[0]:a --input {\"x\":1}", &["nothing reads an input of root/turn[0]:a", "--set"]);
    refused(&place, "--at root/message --input 7", &["reads a message, {\"content\":\"…\"}, and not 7"]);
    for output in ["7", "{\"content\":7}", "{\"stopped\":true}", "{\"content\":\"x\",\"stopped\":true}"] {
        refused(&place, &format!("--at root/turn[0]:a --output {output}"), &["only the text is read", "--set"]);
    }
    forked(&place, "--at root/message --input {\"content\":\"Other\"}");
    forked(&place, "--at root/message --output {\"content\":\"Other\"}");
}

/// A thrown value that is not an error is passed to the model, and shown wherever errors are shown.
#[test]
fn a_thrown_value_is_passed_to_the_model() {
    let place = place();
    let history = place.get("state --request r")["flowState"]["messageHistory"].to_string();
    assert!(history.contains(r#"Unknown block execution error: {\"odd\":1}"#), "{history}");
    for line in ["show r", "show r --tree --unfolded"] {
        let shown = place.run(&line.split(' ').collect::<Vec<_>>());
        assert!(shown.stdout.contains(r#"error: {"odd":1}"#), "{shown}");
    }
}

/// The response of the request is the message of the tool that ended the session, not that of a tool that ended an
/// earlier session.
#[test]
fn a_session_ends_with_the_message_of_its_tool() {
    let agent = AGENT
        .replace(
            "sideA: { prompt: \"main\" }",
            "sideA: { prompt: \"main\", sessionStop: { name: \"count\", messageProperty: \"why\" }, sessionFail: \"giveUp\" }",
        )
        .replace("z.object({ by: z.number() })", "z.object({ by: z.number(), why: z.string().optional() })")
        .replace("export const odd", "export const giveUp = defineTool(\"Gives up\", () => \"gave up\");\nexport const odd")
        .replace("tools: [\"count\"", "tools: [\"count\", \"giveUp\"");
    let mock = |call: Value| json!({ "generators": { "main": [call] } }).to_string();
    let why = json!({ "toolCalls": [{ "name": "count", "args": { "by": 1, "why": "bored" } }] });
    let place = Place::new().file("flows/agent.ts", &agent).file("flows/agent.mock.json", &mock(why));
    place.write("fails.json", mock(json!({ "text": "I cannot.", "toolCalls": [{ "name": "giveUp", "args": {} }] })));
    place.write("talk.json", r#"{ "content": "Hi" }"#);
    for (request, mock, response, reason) in
        [("r", "--mock", "bored", "session_stop"), ("later", "--mock=fails.json", "I cannot.", "session_fail")]
    {
        let line = format!("run agent message --user ada --session s --request {request} --input @talk.json {mock}");
        let output = place.get(&line)["output"].clone();
        assert_eq!((&output["response"], &output["stopReason"]), (&json!(response), &json!(reason)), "{output}");
        let replay = place.get(&format!("replay {request}"));
        assert_eq!(replay["identical"], true, "{replay}");
    }
}
