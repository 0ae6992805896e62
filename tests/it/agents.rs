//! Agents as requests: a process that dies at any commit, messages that arrive during a run, forks with other words,
//! and replays against other prompts.

use std::collections::HashMap;
use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::pattern::assert_matches;
use tests::server::{Reply, Server};

/// Tools that write wherever an agent can, a tool that queues another, a sub-prompt with a tool of its own, and hooks.
const AGENT: &str = r#"
import { defineAgent, defineHook, definePrompt, defineTool, injectMessage, queueTool } from "@standardagents/builder";
import { z } from "zod";
export const count = defineTool("Counts", z.object({ by: z.number() }), async (flow, { by }) => {
  await flow.storage.put("n", ((await flow.storage.get("n")) ?? 0) + by);
  flow.context.counted = (flow.context.counted ?? 0) + by;
  if (by === 1) queueTool(flow, "count", { by: 10 });
  return `n is ${await flow.storage.get("n")}`;
});
export const note = defineTool("Notes", async (flow) => {
  await injectMessage(flow, { role: "system", content: "noted" });
  (flow.rootState ?? flow).context.noted = true;
  return "noted";
});
export const fails = defineTool("Fails", () => { throw new Error("it broke"); });
definePrompt({ name: "part", prompt: "Help.", model: "m", toolDescription: "Helps", tools: ["count", "note"] });
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, includePastTools: true, tools: ["count", "note", "fails", "part"] });
defineHook("after_update_message", (flow, message) => { flow.context.updates = [...(flow.context.updates ?? []), message.status]; });
defineHook("after_tool_call_success", async (flow, call, result) => {
  flow.context.last = call.function.name;
  await flow.storage.put("hooked", ((await flow.storage.get("hooked")) ?? 0) + 1);
  return { ...result, result: `${result.result}!` };
});
export default defineAgent({ name: "agent", type: "ai_human", sideA: { prompt: "main" } });
"#;

const REPLIES: &str = r#"{ "generators": {
  "main": [
    { "text": "I count.", "toolCalls": [{ "name": "count", "args": { "by": 1 } }, { "name": "note", "args": {} }] },
    { "toolCalls": [{ "name": "fails", "args": {} }, { "name": "part", "args": {} }] },
    { "text": "Done." }
  ],
  "part": [{ "text": "Helped.", "toolCalls": [{ "name": "count", "args": { "by": 5 } }, { "name": "note", "args": {} }] }]
} }"#;

fn place() -> Place {
    let place = Place::new().file("flows/agent.ts", AGENT).file("flows/agent.mock.json", REPLIES);
    place.get("check");
    place
}

/// What an agent came to, without ids and times.
fn essence(state: &Value, request: &str) -> Value {
    let flow = &state["flowState"];
    let message = |row: &Value| json!([row["role"], row["content"], row["status"], row["name"], row["tool_status"]]);
    let history: Vec<Value> = flow["messageHistory"].as_array().expect("a history").iter().map(message).collect();
    let kept = state["session"]["messages"].as_object().expect("messages of the thread");
    let kept: Vec<Value> = kept.values().map(message).collect();
    let turns = state["agent"]["turns"].as_array().expect("turns").len();
    assert_eq!(flow["flowId"], request);
    json!({
        "history": history, "kept": kept, "turns": turns, "storage": flow["storage"], "context": flow["context"],
        "turnCount": flow["turnCount"], "stopped": [flow["stopped"], flow["stoppedBy"]], "sequence": flow["sequence"],
        "sessionTurns": state["session"]["sessionTurns"],
    })
}

/// A process dies at every single commit of an agent, and another takes it up: everything comes out the same, no model
/// is asked twice for what it had answered, and no tool that had finished runs again.
#[test]
fn a_crash_at_any_commit_repeats_nothing() {
    let place = place();
    let crash = |data: &str, words: &[&str]| -> Option<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        let answer = command.arg(place.dir()).arg(place.dir().join(data)).args(words).output().expect("it starts");
        serde_json::from_slice(&answer.stdout).ok()
    };
    let plain = crash("plain.db", &["run", "agent", "plain"]).expect("nothing tells it to die");
    let whole = essence(&plain["after"]["state"], "plain");
    assert_matches("the run", &whole["storage"], &json!({ "n": 16, "hooked": 6 }));
    assert_eq!(plain["after"]["output"]["response"], "Done.", "{plain}");
    let commits = plain["commits"].as_u64().expect("a number");
    assert!(commits > 5, "it has only {commits} commits");
    let mut wrong = Vec::new();
    for n in 1..=commits {
        let data = format!("r{n}.db");
        crash(&data, &["run", "agent", "r", &n.to_string()]);
        let resumed = crash(&data, &["resume", "r"]).expect("nothing tells it to die");
        let found = essence(&resumed["after"]["state"], "r");
        if found != whole {
            wrong.push(format!("commit {n}:\n  {found}\n  {whole}"));
        }
        let path = place.dir().join(&data);
        let words = ["events", "r", "--json", "--data", &path.display().to_string()].map(str::to_owned);
        let answer = Command::new(program()).args(words).current_dir(place.dir()).output().expect("it starts");
        let events: Vec<Value> = serde_json::from_slice(&answer.stdout).expect("events");
        wrong.extend(repeated(&events).into_iter().map(|what| format!("commit {n}: {what}")));
    }
    assert!(wrong.is_empty(), "of {commits} commits:\n{}", wrong.join("\n"));
}

/// What was done again although the log had its end.
fn repeated(events: &[Value]) -> Vec<String> {
    let mut done: HashMap<String, usize> = HashMap::new();
    for event in events {
        let path = event["path"].as_str().unwrap_or_default();
        let what = match event["kind"].as_str() {
            Some("block_finished") if path.contains("/tool:") && event["payload"]["outcome"] != "abandoned" => {
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

/// A message that arrives while an execution of its thread runs waits, is shown, and is answered afterwards.
#[test]
fn a_message_during_a_run_waits_and_is_shown() {
    let place = place();
    let slow =
        r#"{ "generators": { "main": [{ "text": "one two three four five six seven eight", "chunkMs": 400 }] } }"#;
    place.write("slow.json", slow);
    place.write("quick.json", r#"{ "generators": { "main": [{ "text": "second" }] } }"#);
    place.write("hello.json", r#"{ "content": "hello" }"#);
    place.write("wait.json", r#"{ "content": "and me?" }"#);
    let line = |request: &str, input: &str, mock: &str| {
        format!("run agent message --user ada --session s --request {request} --input @{input} --mock={mock}")
    };
    let first = place.start(&line("first", "hello.json", "slow.json"));
    place.until_status("first", "in_progress");
    let second = place.start(&line("second", "wait.json", "quick.json"));
    place.until_status("second", "queued");
    let state = place.get("state --request first");
    let waiting = json!([{ "requestId": "second", "content": "and me?" }]);
    assert_matches("what waits", &state["agent"]["waitingMessages"], &waiting);
    assert_eq!(first.ended().code, Some(0));
    assert_eq!(second.ended().code, Some(0));
    let state = place.get("state --request second");
    let said: Vec<&Value> =
        state["flowState"]["messageHistory"].as_array().expect("rows").iter().map(|row| &row["content"]).collect();
    assert_eq!(said, ["hello", "one two three four five six seven eight", "and me?", "second"]);
}

/// What a thread holds, as role, content and status.
fn thread(place: &Place, session: &str) -> Vec<String> {
    let state = place.get(&format!("state --session {session}"));
    let mut rows: Vec<&Value> = state["session"]["messages"].as_object().expect("messages").values().collect();
    rows.sort_by_key(|row| row["created_at"].as_u64());
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or("-").to_owned();
    rows.iter()
        .map(|row| format!("{}: {} ({})", text(row, "role"), text(row, "content"), text(row, "status")))
        .collect()
}

const WAITING: &str = r#"
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
export const keep = defineTool("Keeps", async (flow) => {
  await flow.storage.put("n", ((await flow.storage.get("n")) ?? 0) + 1);
  return "kept";
});
export const wait = defineTool("Waits", () => new Promise((done) => setTimeout(() => done("late"), 60_000)));
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, includePastTools: true, tools: ["keep", "wait"] });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;

/// A stop while calls wait ends the execution, and a message that waited behind it is answered. What the stopped turn
/// had said is no part of the thread; what its tools stored is.
#[test]
fn a_message_behind_a_stopped_run_is_answered() {
    let place = Place::new().file("flows/agent.ts", WAITING);
    let calls = r#"[{ "name": "keep", "args": {} }, { "name": "wait", "args": {} }, { "name": "keep", "args": {} }]"#;
    place.write(
        "calls.json",
        format!(r#"{{ "generators": {{ "main": [{{ "text": "Now.", "toolCalls": {calls} }}] }} }}"#),
    );
    place.write("quick.json", r#"{ "generators": { "main": [{ "text": "second" }] } }"#);
    place.write("hello.json", r#"{ "content": "hello" }"#);
    place.write("next.json", r#"{ "content": "and me?" }"#);
    let line = |request: &str, input: &str, mock: &str| {
        format!("run agent message --user ada --session s --request {request} --input @{input} --mock={mock}")
    };
    let first = place.start(&line("first", "hello.json", "calls.json"));
    place.until_status("first", "in_progress");
    let waiting = place.until("the second call runs", |place| {
        let state = place.get("state --request first");
        let calls = state["agent"]["queue"].as_array()?.clone();
        (calls.get(1)?["status"] == "running").then_some(calls)
    });
    let statuses: Vec<String> = waiting.iter().map(|call| format!("{} {}", call["name"], call["status"])).collect();
    assert_eq!(statuses, [r#""keep" "ran""#, r#""wait" "running""#, r#""keep" "waiting""#]);
    let second = place.start(&line("second", "next.json", "quick.json"));
    place.until_status("second", "queued");
    place.get("abort first");
    assert_eq!(first.ended().code, Some(5));
    assert_eq!(second.ended().code, Some(0));
    let said = ["user: hello (completed)", "user: and me? (completed)", "assistant: second (completed)"];
    assert_eq!(thread(&place, "s"), said);
    let state = place.get("state --session s");
    assert_eq!(state["session"]["storage"]["n"], 1, "{state}");
    let asked = place.get("events second --kind effect_started")[0]["payload"]["request"]["messages"].clone();
    let told = |role: &str, content: &str| json!({ "role": role, "content": content });
    assert_eq!(asked, json!([told("system", "Work."), told("user", "hello"), told("user", "and me?")]));
}

/// A process dies while a model answers. A message that comes before anybody resumes it is answered without the turn
/// that is missing; a resume adds that turn, in the place where it was said.
#[test]
fn a_thread_goes_on_beside_an_interrupted_run() {
    let place = Place::new().file("flows/agent.ts", WAITING);
    place.write(
        "slow.json",
        r#"{ "generators": { "main": [{ "text": "one two three four five six", "chunkMs": 60000 }] } }"#,
    );
    place.write("first.json", r#"{ "generators": { "main": [{ "text": "first" }] } }"#);
    place.write("second.json", r#"{ "generators": { "main": [{ "text": "second" }] } }"#);
    place.write("hello.json", r#"{ "content": "hello" }"#);
    place.write("next.json", r#"{ "content": "and me?" }"#);
    let first =
        place.start("run agent message --user ada --session s --request first --input @hello.json --mock=slow.json");
    place.until_status("first", "in_progress");
    place.until("the model is asked", |place| {
        let asked = place.get("events first --kind effect_started");
        (!asked.as_array()?.is_empty()).then_some(())
    });
    first.kill();
    let line = "run agent message --user ada --session s --request second --input @next.json --mock=second.json";
    assert_eq!(place.get(line)["output"]["response"], "second");
    let said = ["user: hello (completed)", "user: and me? (completed)", "assistant: second (completed)"];
    assert_eq!(thread(&place, "s"), said);
    let resumed = place.get("resume first --mock=first.json");
    assert_eq!(resumed["output"]["response"], "first", "{resumed}");
    let said = ["user: hello (completed)", "assistant: first (completed)", said[1], said[2]];
    assert_eq!(thread(&place, "s"), said);
}

/// A model that says nothing is not asked a second time: the next one of the prompt is.
#[test]
fn a_silent_model_is_replaced_at_once() {
    let server = Server::start([Reply::body("application/json", "{").hang(), Reply::text("Here.")]);
    let address = server.address();
    let settings = json!({ "models": {
        "mute": { "model": "mute", "baseUrl": format!("{address}/v1"), "timeoutMs": 500 },
        "spare": { "model": "spare", "baseUrl": format!("{address}/v1") },
    } });
    let agent = r#"
import { defineAgent, definePrompt } from "@standardagents/builder";
definePrompt({ name: "main", prompt: "Work.", model: ["mute", "spare"], includeChat: true });
export default defineAgent({ name: "agent", sideA: { prompt: "main" } });
"#;
    let place = Place::new().file("flows/agent.ts", agent).file("flowglass.json", &settings.to_string());
    place.write("hello.json", r#"{ "content": "hello" }"#);
    let ended = place.get("run agent message --user ada --session s --request r --input @hello.json");
    assert_eq!(ended["output"]["response"], "Here.", "{ended}");
    let asked: Vec<Value> = server.asked().iter().map(|asked| asked.json()["model"].clone()).collect();
    assert_eq!(asked, ["mute", "spare"]);
    let effects = place.get("events r --kind effect_finished");
    let failed =
        effects.as_array().expect("events").iter().find_map(|event| event["payload"]["error"]["name"].as_str());
    assert_eq!(failed, Some("TimeoutError"), "{effects}");
}

/// Without `--json`, too, the state of an agent's request shows its turns and the `FlowState`.
#[test]
fn a_state_is_shown_to_people() {
    let place = place();
    place.write("talk.json", r#"{ "content": "begin" }"#);
    place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    let whole = place.run(&["state", "--request", "r"]);
    for line in [
        "agent agent: stopped by side a: stop_on_response; a person speaks next",
        "0     a     main    I count.; calls count, note  side a",
        "2     a     main    Done.                        stopped by a: stop_on_response",
        "flowState\n  {\n    \"threadId\": \"s\"",
    ] {
        assert!(whole.stdout.contains(line), "{line}\n{whole}");
    }
    assert!(!whole.stdout.contains("sideTurns"), "names of the log are not shown\n{whole}");
    let tool = place.run(&["state", "--request", "r", "--at", "root/turn[1]:a/prompt:part/tool:count[0.0]"]);
    for line in ["agent agent: side a has the turn", "flowState of the sub-prompt\n"] {
        assert!(tool.stdout.contains(line), "{line}\n{tool}");
    }
    assert!(!tool.stdout.contains("tools that wait"), "{tool}");
}

/// A fork leaves after a turn, or after the message, with other words: what follows goes by them, and the thread that
/// it comes from stays as it was.
#[test]
fn a_fork_goes_on_with_other_words() {
    let place = place();
    place.write("talk.json", r#"{ "content": "begin" }"#);
    place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    let before = place.get("state --session s");
    let other = r#"{ "generators": { "main": [{ "text": "Instead." }] } }"#;
    place.write("other.json", other);
    place.write("edited.json", r#"{ "content": "end" }"#);
    let line = "fork r --at root/message --output {\"content\":\"end\"} --mock=other.json --json";
    let forked = place.run(&line.split(' ').collect::<Vec<_>>()).json();
    assert_eq!(forked["output"]["response"], "Instead.", "{forked}");
    let state = place.get(&format!("state --request {}", forked["requestId"].as_str().expect("an id")));
    assert_matches(
        "the fork of the message",
        &state["flowState"]["messageHistory"],
        &json!([{ "content": "end", "…": 0 }, { "content": "Instead.", "…": 0 }]),
    );
    let line = "fork r --at root/turn[0]:a --output {\"content\":\"I_did_not.\"} --mock=other.json --json";
    let forked = place.run(&line.split(' ').collect::<Vec<_>>()).json();
    let id = forked["requestId"].as_str().expect("an id").to_owned();
    let state = place.get(&format!("state --request {id}"));
    let history = state["flowState"]["messageHistory"].as_array().expect("rows").clone();
    let said: Vec<&Value> = history.iter().map(|row| &row["content"]).collect();
    assert_eq!(said.first(), Some(&&json!("begin")));
    assert!(said.contains(&&json!("I_did_not.")) && !said.contains(&&json!("I count.")), "{said:?}");
    let calls = place.get(&format!("events {id} --kind effect_started"));
    assert!(calls.to_string().contains("I_did_not."), "{calls}");
    assert_eq!(place.get("state --session s"), before, "the thread it comes from stays");
}

/// A replay against an edited prompt asks nobody and says where the two differ.
#[test]
fn a_replay_after_an_edit_names_the_difference() {
    let place = place();
    place.write("talk.json", r#"{ "content": "begin" }"#);
    place.get("run agent message --user ada --session s --request r --input @talk.json --mock");
    let same = place.ask("replay r");
    assert_eq!(same.code, Some(0), "{same}");
    place.write("flows/agent.ts", AGENT.replace("prompt: \"Work.\"", "prompt: \"Rest.\""));
    let other = place.ask("replay r");
    assert_eq!(other.code, Some(1), "{other}");
    assert_eq!(other.json()["divergence"]["path"], "root/turn[0]:a", "{other}");
    assert!(other.stdout.contains("Rest.") && other.stdout.contains("Work."), "{other}");
}

/// Two agents that never stop end at the limit of one execution, which a side's own limit can raise.
#[test]
fn agents_that_never_stop_are_stopped() {
    for (side, limit) in [("", 250), (", maxTurns: 260", 260)] {
        let agent = format!(
            r#"
import {{ defineAgent, definePrompt }} from "@standardagents/builder";
definePrompt({{ name: "one", prompt: "Talk.", model: "m" }});
definePrompt({{ name: "two", prompt: "Talk.", model: "m" }});
export default defineAgent({{ name: "endless", type: "dual_ai", sideA: {{ prompt: "one" }}, sideB: {{ prompt: "two"{side} }} }});
"#
        );
        let talk: Vec<Value> = (0..135).map(|n| json!({ "text": format!("word {n}") })).collect();
        let place = Place::new().file("flows/endless.ts", &agent);
        place.write("talk.mock.json", json!({ "generators": { "one": talk, "two": talk } }).to_string());
        place.write("talk.json", r#"{ "content": "begin" }"#);
        let ended = place.get("run endless message --user ada --request r --input @talk.json --mock=talk.mock.json");
        assert_eq!(ended["output"]["stopReason"], "max_total_steps", "{ended}");
        assert_eq!(ended["output"]["turnCount"], limit);
    }
}

/// Definitions that cannot work do not load, and say what is wrong, where it stands and what would be right.
#[test]
fn definitions_that_cannot_work_do_not_load() {
    let head = "import { defineAgent, defineHook, definePrompt, defineTool } from \"@standardagents/builder\";\n";
    let prompt = "definePrompt({ name: \"p\", prompt: \"x\", model: \"m\" });\n";
    let agent = |more: &str| format!("export default defineAgent({{ name: \"a\", {more} }});\n");
    let fine = agent("sideA: { prompt: \"p\" }");
    let wrong = [
        (agent("sideA: { prompt: \"q\" }"), "there is no prompt \"q\" in this file"),
        (agent("sideA: { prompt: \"p\", stopTool: \"t\" }"), "there is no tool \"t\" in this file"),
        (agent("sideA: {}, sideB: {}"), "both sides are human"),
        (agent("type: \"dual_ai\", sideA: { prompt: \"p\" }"), "needs a prompt on both sides"),
        (agent("type: \"other\", sideA: { prompt: \"p\" }"), "type is \"ai_human\" or \"dual_ai\", not \"other\""),
        (agent("sideA: { prompt: \"p\", maxTurns: -1 }"), "sideA.maxTurns is a whole number from 0 on, not number -1"),
        (
            format!("definePrompt({{ name: \"q\", prompt: \"x\", model: \"m\", tools: [\"lok\"] }});\n{fine}"),
            "there is no tool, prompt or agent \"lok\"",
        ),
        (
            format!(
                "definePrompt({{ name: \"q\", prompt: \"x\", model: \"m\", tools: [\"two\"] }});\ndefineAgent({{ name: \"two\", \
                 type: \"dual_ai\", sideA: {{ prompt: \"p\" }}, sideB: {{ prompt: \"p\" }} }});\n{fine}"
            ),
            "Prompt \"q\": tools[0]: agent \"two\" has a prompt on both sides, so it cannot be called",
        ),
        (
            format!(
                "definePrompt({{ name: \"q\", prompt: [{{ type: \"include\", prompt: \"P\" }}], model: \"m\" }});\n{fine}"
            ),
            "Prompt \"q\": prompt[0]: there is no prompt \"P\" in this file; did you mean \"p\"?",
        ),
        (format!("definePrompt({{ name: \"q\", prompt: \"x\" }});\n{fine}"), "Prompt \"q\": model needs a text"),
        (
            format!("defineHook(\"before_create_mesage\", () => {{}});\n{fine}"),
            "did you mean \"before_create_message\"?",
        ),
        (
            format!("export const t = defineTool(\"T\", {{ a: 1 }}, () => {{}});\n{fine}"),
            "the arguments need a zod schema",
        ),
    ];
    for (text, message) in wrong {
        let place = Place::new().file("flows/a.ts", &format!("{head}{prompt}{text}"));
        let answer = place.ask("check");
        assert_eq!(answer.code, Some(1), "{text}\n{answer}");
        assert!(
            answer.json()[0]["error"]["message"].as_str().is_some_and(|said| said.contains(message)),
            "{text}\n{answer}"
        );
        assert_eq!(answer.json()[0]["error"]["line"], 3, "the line after the prompt\n{text}\n{answer}");
    }
    let place =
        Place::new().file("flows/a.ts", &format!("{head}{prompt}{}", agent("sideA: { prompt: \"p\", maxTurns: 0 }")));
    place.write("talk.json", r#"{ "content": "begin" }"#);
    let ended = place.get("run a message --user ada --input @talk.json");
    assert_eq!(ended["output"]["stopReason"], "max_side_steps", "{ended}");
    assert_eq!(ended["output"]["turnCount"], 0);
}

/// What another version of the module has and is not there is a warning at its line, or an error that says what takes
/// its place.
#[test]
fn what_is_not_there_is_said_where_it_is_written() {
    let agent = r#"import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";
export const one = defineTool("One", z.object({}), () => "x", z.string());
export const two = defineTool({ description: "Two", args: z.object({}), execute: () => "x", uses: ["one"] });
definePrompt({ name: "main", prompt: "Work.", model: "m", tools: ["one", { name: "two", initAttachmentsProperty: "f" }] });
export default defineAgent({
  name: "a",
  sideA: { prompt: "main", subagents: [{ agent: "b" }], sessionStatus: "one", stopToolResponseProperty: "x" },
  sideB: { human: true, stopOnResponse: true },
  hoks: [],
});
"#;
    let place = Place::new().file("flows/a.ts", agent);
    let checked = place.get("check");
    let warnings = checked[0]["warnings"].as_array().expect("warnings");
    let told: Vec<String> = warnings.iter().map(|said| format!("{}: {}", said["line"], said["message"])).collect();
    let expected = [
        r#"3: "defineTool: \"returnSchema\" changes nothing: what a tool returns is not checked""#,
        r#"4: "defineTool: \"uses\" changes nothing: a tool may queue any tool of its file""#,
        r#"5: "Prompt \"main\": tools[1]: \"initAttachmentsProperty\" changes nothing: a thread keeps no files"#,
        r#"6: "Agent \"a\": \"hoks\" is no setting of an agent and changes nothing"#,
        r#"6: "Agent \"a\": sideA: \"subagents\" changes nothing: agents with threads of their own are not there"#,
        r#"6: "Agent \"a\": sideA: \"sessionStatus\" changes nothing: a session has no status of its own"#,
        r#"6: "Agent \"a\": sideA: \"stopToolResponseProperty\" changes nothing without \"stopTool\""#,
        r#"6: "Agent \"a\": sideB: \"stopOnResponse\" changes nothing: a person speaks for this side"#,
    ];
    for (found, expected) in told.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (import, instead) in [
        ("defineProvider", "Models stand in flowglass.json"),
        ("readFile", "A thread keeps no files"),
        ("anything", "It exports defineAgent,"),
    ] {
        let text = agent.replace("defineAgent,", &format!("defineAgent, {import},"));
        let place = Place::new().file("flows/a.ts", &format!("{text}{import}();\n"));
        let answer = place.ask("check");
        let message = answer.json()[0]["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(import) && message.contains(instead), "{answer}");
    }
    let handler = agent.replace("sideB: { human: true, stopOnResponse: true }", "sideB: { handler: \"h\" }");
    let answer = Place::new().file("flows/a.ts", &handler).ask("check");
    let error = &answer.json()[0]["error"];
    assert_eq!((answer.code, &error["line"]), (Some(1), &json!(6)), "{answer}");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("sideB.handler: sides that code speaks for")));
}
