//! Calls in the real window: the loop tick by tick, the scoped context beside the whole one, approvals, hostile content
//! and a context of a thousand messages.

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

/// An agent that gets its context as its input, with a Call for each role.
const FLOW: &str = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
const scopes = { type: "array", items: { enum: ["state", "input", "note", "tool"] } };
const place = { type: "string" };
Tool.register("think", { properties: { _scopes: scopes, _output: {}, _outputPath: place } });
Tool.register("pay", { properties: { amount: {}, to: {}, _scopes: scopes, _outputPath: place } });
Activity.register("pay", ({ amount }, scoped) => ({ amount, saw: Object.keys(scoped) }));
const note = { const: ["note"] };
Tool.register("list", { properties: { _scopes: note, _outputPath: place, _outputMethod: { const: "push" } } });
Activity.register("list", (_call, { note }) => note.text);
Tool.register("write", { properties: { tone: {}, _delegate: { const: "writer" }, _scopes: note, _outputPath: place } });
Delegate.register("writer", { context: [{ type: "system", message: "You write." }] });
const agent = Agent({
  name: "clerk",
  model: "m",
  context: (given) => [...given, ...["think", "pay", "list", "write"].map((tool) => ({ type: "tool", tool }))],
  confirm: (call) => call.amount > 10,
});
export default defineFlow({ kind: "clerk", actions: { go: { block: agent } } });
"#;

fn solution(calls: Value, output: Value) -> Value {
    json!({ "structuredOutput": { "calls": calls, "output": output } })
}

/// A request of the flow, with what its models answer.
fn run(place: &Place, request: &str, context: &Value, replies: &Value) -> Value {
    place.write("replies.json", json!({ "generators": replies }).to_string());
    let (input, script) = (context.to_string(), format!("--mock={}", place.dir().join("replies.json").display()));
    let words = ["run", "clerk", "go", "--user", "ada", "--session", "s", "--request", request, "--json"];
    place.run(&[&words[..], &["--input", &input, &script]].concat()).json()
}

fn place() -> Place {
    Place::new().file("flows/clerk.ts", FLOW)
}

fn open(place: &Place) -> Window {
    let data = place.database().display().to_string();
    Window::open(&program(), &["open", &place.dir().display().to_string(), "--data", &data])
}

/// Goes to the Calls of a request.
fn look(window: &Window, request: &str, more: &str) {
    window.script(&format!("location.hash = 'session=s&request={request}&tab=calls{more}'"), &[]);
    window.wait_for(&hook("calls"));
}

fn select(window: &Window, path: &str) {
    let row = format!("{}[data-path=\"{path}\"]", hook("loop-row"));
    window.wait_for(&row);
    window.script("document.querySelector(arguments[0]).scrollIntoView({ block: 'nearest' })", &[&row]);
    window.click(&row);
    window.wait_for(&format!("{}[data-path=\"{path}\"] {}", hook("call-view"), hook("context-row")));
}

/// What stands in the table: kind, and whether it was seen.
fn context(window: &Window) -> Vec<(String, bool)> {
    let kinds = window.attributes(&hook("context-row"), "data-kind");
    let seen = window.attributes(&hook("context-row"), "data-seen");
    kinds.into_iter().zip(seen.iter().map(|seen| seen == "true")).collect()
}

/// Every role, tick by tick; what each saw and what not, its references, its place, and its delegate's own context.
#[test]
fn calls_are_looked_at() {
    let place = place();
    let given = json!([
        { "type": "state", "price": 7 },
        { "type": "data", "kind": "note", "data": { "text": "one" }, "_instance": "A" },
        { "type": "data", "kind": "note", "data": { "text": "two" }, "_instance": "B" },
    ]);
    let calls = json!([
        { "_tool": "think", "_scopes": ["state"], "_output": { "idea": 1 }, "_outputPath": "†state.idea" },
        { "_tool": "pay", "amount": "†state.idea.idea", "_scopes": ["state"], "_outputPath": "†state.paid" },
        { "_tool": "list", "_instance": "A", "_outputPath": "†note.lines" },
        { "_tool": "write", "_instance": "B", "tone": "kind", "_outputPath": "†note.letter" },
        { "_tool": "pay", "amount": 1 },
        { "_tool": "nothing" },
    ]);
    let replies = json!({
        "clerk": [solution(calls, Value::Null), solution(json!([]), json!("done"))],
        "writer": [solution(json!([]), json!("a letter"))],
    });
    assert_eq!(run(&place, "r", &given, &replies)["status"], "completed");
    let window = open(&place);
    look(&window, "r", "");
    window.wait_for_text(&hook("tab-calls"), "6");
    let rows = window.wait(&hook("loop-row"), |rows| (rows.len() == 10).then(|| rows.to_vec()));
    assert!(rows[0].contains("clerk") && rows[0].contains("2 ticks"), "{rows:?}");
    assert!(rows[1].contains("calls think, pay × 2, list, write and 1 more"), "{rows:?}");
    assert!(rows[5].contains("handed to writer") && rows[9].contains("no calls"), "{rows:?}");

    // Nothing is selected, so the first Call is shown: latent, with dynamic scopes.
    window.wait_for_text(&hook("call-role"), "latent");
    window.wait_for_text(&hook("latent-note"), "its scopes are a hint");
    window.wait_for_text(&hook("call-scopes"), "state — dynamic");
    assert_eq!(window.texts(&hook("call-allowed")), ["state, input, note, tool"]);

    // A click chooses another; it saw what the one before it left, and its reference is resolved.
    select(&window, "root/tick[0]/call:pay[1]");
    window.wait_for_text(&hook("call-reference"), "†state.idea.idea");
    assert!(window.texts(&hook("call-reference"))[0].ends_with('1'), "{:?}", window.texts(&hook("call-reference")));
    assert_eq!(window.texts(&hook("call-output-path")), ["†state.paid (set)"]);
    let (state, left, tool) = (("state".to_owned(), true), ("note".to_owned(), false), ("tool".to_owned(), false));
    let own = [&[state.clone(), left.clone(), left.clone()][..], &vec![tool; 4][..], &[state][..]].concat();
    assert_eq!(context(&window), own);
    window.wait_for_text("[data-testid=context-row][data-at=\"7\"]", "new");
    assert_eq!(window.texts("[data-at=\"1\"] [data-testid=left-out]"), ["not in scope"]);
    // The inspector beside it shows the same block.
    window.wait_for_text(&hook("block-path"), "root/tick[0]/call:pay[1]");

    // One with an instance: static scopes, its own message, and not the other's.
    select(&window, "root/tick[0]/call:list[2]");
    assert_eq!(window.texts(&hook("call-role")), ["explicit", "instanced"]);
    window.wait_for_text(&hook("call-scopes"), "note — static");
    assert_eq!(window.texts(&hook("call-output-path")), ["†note.lines (push)"]);
    assert_eq!(window.texts("[data-at=\"2\"] [data-testid=left-out]"), ["another instance"]);
    window.wait_for_text(&hook("call-scoped"), "text: \"one\"");

    // What was left out can be shown alone; a message opens in full.
    window.click("[data-choice=left]");
    window.wait(&hook("context-row"), |rows| (rows.len() == 6).then_some(()));
    window.click("[data-testid=context-row][data-at=\"2\"]");
    window.wait_for_text(&hook("context-message"), "left out: another instance");
    window.wait_for_text(&hook("context-message"), "two");

    // A delegate has a loop of its own; its context is its own, then what was scoped, then the parameters.
    select(&window, "root/tick[0]/call:write[3]");
    assert_eq!(window.texts(&hook("call-role")), ["delegated", "instanced"]);
    window.click(&hook("open-delegate"));
    let inner = "root/tick[0]/call:write[3]/delegate:writer/tick[0]";
    window.wait_for(&format!("{}[data-path=\"{inner}\"] {}", hook("call-view"), hook("context-row")));
    assert_eq!(window.attributes(&hook("context-row"), "data-kind"), ["system", "note", "input"]);
    window.wait_for_text(&hook("tick-output"), "a letter");

    // One without a place is not waited for; one that was refused says why, and that nothing was scoped.
    select(&window, "root/tick[0]/work:pay[4]");
    window.wait_for_text(&hook("call-view"), "not waited for");
    window.wait_for_text(&hook("context-verdict"), "Everything is left out");
    select(&window, "root/tick[0]/call:nothing[5]");
    window.wait_for_text(&hook("call-error"), "there is no tool \"nothing\"");
    window.wait_for_text(&hook("call-error"), "refused before anything was scoped");

    // The arrow keys move the choice, and the tick says what it adds.
    select(&window, "root/tick[0]");
    window.wait_for_text(&hook("tick-output"), "list");
    window.press(&hook("call-loop"), key::END);
    window.wait_for(&format!("{}[data-path=\"root/tick[1]\"]", hook("call-view")));
    window.wait_for_text(&hook("tick-output"), "done");

    // At an instant before its end a Call runs, and what comes later is not there. What is not waited for began first.
    let blocks = place.get("show r")["blocks"].clone();
    let seq = blocks.as_array().and_then(|all| all.iter().find(|one| one["path"] == "root/tick[0]/call:think[0]"));
    let seq = seq.and_then(|row| row["seqStart"].as_u64()).expect("it began");
    look(&window, "r", &format!("&seq={seq}"));
    window.wait(&hook("loop-row"), |rows| (rows.len() == 4).then_some(()));
    assert_eq!(window.attributes(&hook("loop-row"), "data-status"), ["running"; 4]);
}

/// A question: exactly what the person agrees to, the lines that answer it, and what was answered. The content is
/// hostile, and is shown as text.
#[test]
fn an_approval_is_looked_at() {
    let place = place();
    let hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";
    let given = json!([
        { "type": "state", "secret": "s3cret" },
        { "type": "data", "kind": "note", "data": { "text": hostile, "__proto__": { "polluted": 1 } } },
    ]);
    let to = format!("'; rm -rf ~ #{hostile}");
    let call = json!({ "_tool": "pay", "amount": 50, "to": to, "_scopes": ["note"], "_outputPath": "†state.paid" });
    let replies = json!({ "clerk": [solution(json!([call]), Value::Null), solution(json!([]), json!("done"))] });
    assert_eq!(run(&place, "q", &given, &replies)["status"], "suspended");
    let window = open(&place);
    look(&window, "q", "");
    window.wait_for_text("[data-testid=loop-row][data-status=suspended][data-role=call]", "waits for a person");
    window.wait_for(&format!("{}[data-status=pending]", hook("approval")));
    let lines = window.wait(&hook("approval-line"), |lines| (lines.len() == 3).then(|| lines.to_vec()));
    let id = place.get("suspensions")[0]["id"].as_str().expect("a question").to_owned();
    assert!(lines[0].contains(&format!("flowglass resume q --approve --suspension {id}")), "{lines:?}");
    assert!(lines[1].contains("flowglass resume q --reject --reason"), "{lines:?}");
    let scoped = window.wait_for_text(&hook("approval-scoped"), "<img src=x");
    assert!(!scoped.contains("s3cret"), "{scoped}");
    assert_eq!(window.texts("[data-at=\"0\"] [data-testid=left-out]"), ["not in scope"]);
    let found =
        window.script("return [document.title, document.querySelectorAll('main img, main script').length]", &[]);
    assert_ne!(found[0], "owned", "{found}");
    assert_eq!(found[1], 0, "{found}");

    // The line that the page shows is one that a shell takes as it stands, whatever the Call says.
    let line =
        window.script("return document.querySelectorAll('[data-testid=approval-line] code')[2].textContent", &[]);
    let line = line.as_str().expect("a line").replacen("flowglass", &program().display().to_string(), 1);
    let answer = std::process::Command::new("sh").args(["-c", &line]).current_dir("/").output().expect("it starts");
    assert!(answer.status.success(), "{line}\n{}", String::from_utf8_lossy(&answer.stderr));
    window.wait_for(&format!("{}[data-status=submitted]", hook("approval")));
    window.wait_for_none(&hook("approval-line"));
    window.wait_for_text(&hook("call-result"), "amount: 50");
    assert_eq!(window.attributes(&hook("loop-row"), "data-status"), ["completed"; 4]);

    // Before the answer the question was open.
    let asked = place.get("events q").as_array().and_then(|all| all.iter().position(|one| one["kind"] == "suspended"));
    let seq = asked.expect("it asked") + 1;
    look(&window, "q", &format!("&seq={seq}"));
    window.wait_for(&format!("{}[data-status=pending]", hook("approval")));
}

/// A thousand messages, of which all, none or a few are seen: only what is in view is drawn, and a key is answered at
/// once.
#[test]
fn a_large_context_stays_fluent() {
    let place = place();
    let mut given: Vec<Value> = (0..998)
        .map(|n| (n, format!("message {n} ").repeat(100)))
        .map(|(n, text)| json!({ "type": "data", "kind": "note", "data": { "n": n, "text": text } }))
        .collect();
    given.push(json!({ "type": "state", "x": 1 }));
    let calls = json!([
        { "_tool": "pay", "amount": 1, "_scopes": ["note"], "_outputPath": "†state.one" },
        { "_tool": "pay", "amount": 2, "_outputPath": "†state.two" },
    ]);
    let replies = json!({ "clerk": [solution(calls, Value::Null), solution(json!([]), json!("done"))] });
    place.write("context.json", json!(given).to_string());
    place.write("replies.json", json!({ "generators": replies }).to_string());
    let script = format!("--mock={}", place.dir().join("replies.json").display());
    let input = format!("@{}", place.dir().join("context.json").display());
    let words = ["run", "clerk", "go", "--user", "ada", "--session", "s", "--request", "big", "--json"];
    let ran = place.run(&[&words[..], &["--input", &input, &script]].concat()).json();
    assert_eq!(ran["status"], "completed", "{ran}");
    let window = open(&place);
    look(&window, "big", "");
    select(&window, "root/tick[0]/call:pay[0]");
    window.wait_for_text("[data-choice=all]", "1,003");
    assert_eq!(window.texts("[data-choice=seen]"), ["Seen998"]);
    let drawn = window.texts(&hook("context-row")).len();
    assert!(drawn < 60, "{drawn} rows are drawn");
    window.press(&hook("context"), key::END);
    window.wait_for("[data-testid=context-row][data-at=\"1002\"][aria-selected=true]");
    window.press(&hook("context"), key::HOME);
    window.wait_for("[data-testid=context-row][data-at=\"0\"][aria-selected=true]");

    // Another Call of the same tick sees nothing of it.
    select(&window, "root/tick[0]/call:pay[1]");
    window.wait_for_text(&hook("context-verdict"), "Everything is left out");
    assert_eq!(window.texts("[data-choice=left]"), ["Left out1,003"]);
    window.click("[data-choice=seen]");
    window.wait_for_text(&hook("call-view"), "It sees no message.");
}

/// A Call that sees the whole context says that nothing was left out.
#[test]
fn nothing_left_out_is_said() {
    let place = place();
    let calls = json!([{ "_tool": "pay", "amount": 1, "_scopes": ["state", "tool"], "_outputPath": "†state.one" }]);
    let replies = json!({ "clerk": [solution(calls, Value::Null), solution(json!([]), json!("done"))] });
    assert_eq!(run(&place, "all", &json!([{ "type": "state", "x": 1 }]), &replies)["status"], "completed");
    let window = open(&place);
    look(&window, "all", "");
    window.wait_for_text(&hook("context-verdict"), "Nothing is left out.");
    assert_eq!(window.attributes(&hook("context-row"), "data-seen"), ["true"; 5]);
}
