//! Calls that try to get at what is not scoped to them, or to run although a person or a schema says no.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

/// A file that registers something, and an agent that offers every tool named in it. Its input is the context.
fn file(registers: &str, confirm: &str) -> String {
    let named = registers.split("Tool.register(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let named: Vec<&str> = named.collect();
    format!(
        r#"
import {{ defineFlow }} from "@flow-state-dev/core";
import {{ Activity, Agent, Delegate, Tool }} from "acts";
import {{ z }} from "zod";
const place = {{ type: "string" }};
const see = (_call, scoped) => scoped;
{registers}
const agent = Agent({{ name: "g", model: "m", confirm: (c) => {confirm},
  context: (given) => [...given, ...{named:?}.map((tool) => ({{ type: "tool", tool }}))] }});
export default defineFlow({{ kind: "walls", actions: {{ go: {{ block: agent }} }} }});
"#
    )
}

pub(crate) fn place(registers: &str, confirm: &str) -> Place {
    let place = Place::new().file("flows/walls.ts", &file(registers, confirm));
    let checked = place.ask("check");
    assert_eq!(checked.code, Some(0), "{checked}");
    place
}

/// Runs it with solutions of these Calls, one after the other, and then a last one; `others` are those of delegates.
pub(crate) fn run(place: &Place, context: &Value, ticks: &[Value], others: Value) -> Answer {
    let solution = |calls: &Value| json!({ "structuredOutput": { "calls": calls, "output": null } });
    let mut replies: Vec<Value> = ticks.iter().map(solution).collect();
    replies.push(json!({ "structuredOutput": { "calls": [], "output": "done" } }));
    let mut generators = json!({ "g": replies });
    for (name, own) in others.as_object().into_iter().flatten() {
        generators[name] = own.clone();
    }
    place.write("flows/walls.mock.json", json!({ "generators": generators }).to_string());
    let context = context.to_string();
    place.run(&["run", "walls", "go", "--user", "u", "--request", "r", "--input", &context, "--mock", "--json"])
}

/// How a block ended: its output, or the name and the message of its error.
pub(crate) fn end(place: &Place, path: &str) -> Value {
    let answer = place.ask(&format!("block r {path}"));
    if answer.code != Some(0) {
        return json!("it did not run");
    }
    let block = answer.json();
    match &block["block"]["error"] {
        Value::Null => block["output"].clone(),
        error => {
            format!("{}: {}", error["name"].as_str().unwrap_or("?"), error["message"].as_str().unwrap_or("?")).into()
        }
    }
}

/// Runs Calls in one tick, and returns how each ended.
pub(crate) fn ends(place: &Place, context: &Value, calls: &[Value]) -> Vec<Value> {
    let place = Place::new()
        .file("flows/walls.ts", &std::fs::read_to_string(place.dir().join("flows/walls.ts")).expect("it is there"));
    let answer = run(&place, context, &[json!(calls)], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let path = |(at, call): (usize, &Value)| {
        let tool = call["_tool"].as_str().expect("a tool");
        let called = end(&place, &format!("root/tick[0]/call:{tool}[{at}]"));
        if called == "it did not run" { end(&place, &format!("root/tick[0]/work:{tool}[{at}]")) } else { called }
    };
    calls.iter().enumerate().map(path).collect()
}

pub(crate) fn state() -> Value {
    json!({ "type": "state", "s": 1 })
}

pub(crate) fn vault() -> Value {
    json!({ "type": "data", "kind": "vault", "data": { "k": "s3cret" } })
}

const PAY: &str = r#"
Tool.register("pay", { properties: { amount: { type: "number" }, _scopes: { const: ["state"] } } });
Activity.register("pay", ({ amount }) => ({ paid: amount }));
Tool.register("slow", { properties: { _outputPath: place } });
Activity.register("slow", () => "slow");
"#;

/// `confirm` asked, and then the author changed it to ask no more. Once a rejected Call then ran.
#[test]
fn a_question_is_answered_whatever_confirm_says_by_then() {
    let calls = json!([{ "_tool": "pay", "amount": 50 }]);
    for (reply, paid) in [("--reject", false), ("--approve", true)] {
        for (path, call) in
            [("pay", calls[0].clone()), ("pay", json!({ "_tool": "pay", "amount": 50, "_outputPath": "†state.p" }))]
        {
            let place = place(PAY, "c.amount > 10");
            let asked = run(&place, &json!([state()]), &[json!([call])], Value::Null);
            assert_eq!(asked.code, Some(4), "{asked}");
            place.write("flows/walls.ts", file(PAY, "c.amount > 1000"));
            let answered = place.ask(&format!("resume r {reply} --mock"));
            assert_eq!(answered.code, Some(0), "{answered}");
            let ran = end(&place, &format!("root/tick[0]/call:{path}[0]/activity:pay"));
            assert_eq!(ran != "it did not run", paid, "{reply}: {ran}");
            let work = end(&place, "root/tick[0]/work:pay[0]");
            assert_eq!(work, "it did not run", "{reply}");
            let events = place.get("events r").to_string();
            assert!(events.contains("does not ask about root/tick[0]/call:pay[0] any more"), "no drift is told");
        }
    }
}

/// What ran before `confirm` asked is not asked about, and does not run again.
#[test]
fn what_has_run_is_not_asked_about() {
    let registers = format!(
        "{PAY}Tool.register(\"ask\", {{ properties: {{ _outputPath: place }} }});\nActivity.register(\"ask\", () => 1);"
    );
    let place = place(&registers, "c._tool === 'ask'");
    let calls = json!([{ "_tool": "pay", "amount": 50 }, { "_tool": "ask", "_outputPath": "†state.x" }]);
    let asked = run(&place, &json!([state()]), &[calls], Value::Null);
    assert_eq!(asked.code, Some(4), "{asked}");
    assert_eq!(end(&place, "root/tick[0]/work:pay[0]"), json!({ "paid": 50 }));
    place.write("flows/walls.ts", file(&registers, "true"));
    let answered = place.ask("resume r --approve --mock");
    assert_eq!(answered.code, Some(0), "{answered}");
    assert_eq!(end(&place, "root/tick[0]/call:pay[0]"), "it did not run");
}

/// Scopes that a tool lists in any form, at any place, are all that its Calls can ask for.
#[test]
fn what_a_tool_says_of_scopes_holds_in_every_form() {
    let forms = [
        ("beside", r#"{ _scopes: { type: "array", items: { enum: ["state", "input"] } }, properties: {} }"#),
        ("oneOf", r#"{ properties: { _scopes: { items: { oneOf: [{ const: "state" }, { const: "input" }] } } } }"#),
        ("lists", r#"{ properties: { _scopes: { enum: [["state"], ["input"]] } } }"#),
        ("one", r#"{ properties: { _scopes: { items: { not: { const: "vault" } }, maxItems: 1 } } }"#),
        ("pattern", r#"{ properties: { _scopes: { items: { pattern: "^state$" } } } }"#),
        ("union", r#"z.object({ _scopes: z.array(z.union([z.literal("state"), z.literal("input")])) })"#),
        ("set", r#"z.object({ _scopes: z.set(z.enum(["state"])) })"#),
    ];
    let registers: String = forms
        .iter()
        .map(|(name, tool)| format!("Tool.register(\"{name}\", {tool});\nActivity.register(\"{name}\", see);\n"))
        .collect();
    let place = place(&registers, "false");
    let context = json!([state(), { "type": "input", "q": 1 }, vault()]);
    for beyond in [json!(["vault"]), json!(["state", "vault"])] {
        let calls: Vec<Value> = forms
            .iter()
            .map(|(name, _)| json!({ "_tool": name, "_scopes": beyond, "_outputPath": format!("†data.{name}") }))
            .collect();
        for ((name, _), ended) in forms.iter().zip(ends(&place, &context, &calls)) {
            assert!(ended.as_str().is_some_and(|text| text.starts_with("ScopeError")), "{name}: {ended}");
        }
    }
    let calls: Vec<Value> = forms
        .iter()
        .map(|(name, _)| json!({ "_tool": name, "_scopes": ["state"], "_outputPath": format!("†data.{name}") }))
        .collect();
    for ((name, _), ended) in forms.iter().zip(ends(&place, &context, &calls)) {
        assert_eq!(ended, json!({ "state": { "s": 1 } }), "{name}");
    }
}

/// What cannot be checked in a list of scopes is no list that can be gone on with; elsewhere it is told.
#[test]
fn a_schema_that_cannot_be_checked_is_said_when_the_file_loads() {
    for (tool, said) in [
        ("{ properties: { _scopes: { itmes: { enum: [\"state\"] } } } }", "did you mean \\\"items\\\"?"),
        ("{ _scopes: { items: { enmu: [\"state\"] } } }", "did you mean \\\"enum\\\"?"),
        ("z.object({ _scopes: z.array(z.string()).refine((all) => all.length < 2) })", "no word for"),
        ("z.object({ _scopes: z.array(z.string().regex(/^STATE$/i)) })", "no word for"),
        ("{ properties: { id: { pattern: \"(\" } } }", "is not a JSON Schema: "),
        ("{ properties: { id: { type: 5 } } }", "is not a JSON Schema: "),
    ] {
        let place = Place::new().file("flows/walls.ts", &file(&format!("Tool.register(\"t\", {tool});"), "false"));
        let answer = place.ask("check");
        assert_ne!(answer.code, Some(0), "{tool}: {answer}");
        assert!(format!("{}{}", answer.stdout, answer.stderr).contains(said), "{tool}: {answer}");
    }
    let registers = "Tool.register(\"t\", { properties: { id: { patern: \"^u\" } } });";
    let place = Place::new().file("flows/walls.ts", &file(registers, "false"));
    let answer = place.ask("check");
    let told = format!("{}{}", answer.stdout, answer.stderr);
    assert!(told.contains("properties.id") && told.contains("patern") && told.contains("\"line\":7"), "{answer}");
}

/// The other reserved properties count beside the properties too, and so does what the schema requires.
#[test]
fn arguments_fit_the_whole_schema() {
    let registers = r#"
Tool.register("pat", { properties: { id: { type: "string", pattern: "^u_[0-9]+$" }, list: { uniqueItems: true },
  _outputPath: { type: "string", pattern: "^†data\\." } } });
Activity.register("pat", ({ id }) => id ?? "ran");
Tool.register("req", { properties: { _scopes: { items: { enum: ["state"] } }, _instance: place, _outputPath: place },
  required: ["_scopes", "_instance", "_outputPath"] });
Activity.register("req", see);
Tool.register("beside", { _instance: { enum: ["A"] }, _outputPath: { pattern: "^†data\\." }, properties: {} });
Activity.register("beside", () => "ran");
Tool.register("zod", z.object({ id: z.string().regex(/^u_/), _activity: z.literal("pat"), _outputPath: z.string() }));
Tool.register("made", { properties: { _output: { type: "object" }, _outputPath: place }, required: ["_output"] });
Activity.register("made", () => "ran");
"#;
    let place = place(registers, "false");
    let context = json!([state(), { "type": "state", "_instance": "A", "own": 1 }]);
    let misfit = "CallArgumentsError: a call of ";
    for (call, expected) in [
        (json!({ "_tool": "pat", "id": "u_1", "_outputPath": "†data.x" }), "u_1"),
        (json!({ "_tool": "pat", "id": "EVIL", "_outputPath": "†data.x" }), misfit),
        (json!({ "_tool": "pat", "list": [1, 1], "_outputPath": "†data.x" }), misfit),
        (json!({ "_tool": "pat", "_outputPath": "†state.hacked" }), misfit),
        (json!({ "_tool": "pat", "_outputPath": "†data.x && †state.hacked" }), misfit),
        (json!({ "_tool": "pat", "_outputPath": "†data.x && †data.y" }), "ran"),
        (json!({ "_tool": "pat", "id": "†state.s", "_outputPath": "†data.x" }), misfit),
        (json!({ "_tool": "req" }), misfit),
        (json!({ "_tool": "req", "_scopes": null, "_instance": "A", "_outputPath": "†data.x" }), misfit),
        (json!({ "_tool": "beside", "_outputPath": "†state.hacked" }), misfit),
        (json!({ "_tool": "beside", "_instance": "B" }), misfit),
        (json!({ "_tool": "beside", "_instance": "A" }), "ran"),
        (json!({ "_tool": "zod", "id": "EVIL", "_outputPath": "†data.x" }), misfit),
        (json!({ "_tool": "zod", "id": "u_2", "_outputPath": "†data.x" }), "u_2"),
        (json!({ "_tool": "made", "_outputPath": "†data.x" }), "ran"),
    ] {
        let ended = ends(&place, &context, std::slice::from_ref(&call)).remove(0);
        assert!(ended.as_str().is_some_and(|text| text.starts_with(expected)), "{call}: {ended}");
    }
}

const SEE: &str = r#"
Tool.register("see", { properties: { v: {}, _scopes: {}, _instance: place, _outputPath: place } });
Activity.register("see", ({ v }, scoped) => v ?? scoped);
Tool.register("fixed", { properties: { _instance: { const: "A" }, _scopes: { const: ["state"] }, _outputPath: place } });
Activity.register("fixed", (_call, { state }) => { throw new Error(`of A: ${state.own}`); });
"#;

/// The feedback of an instance that is not there is no sign that it is.
#[test]
fn an_unknown_instance_stays_unknown() {
    let place = place(SEE, "false");
    let call = json!([{ "_tool": "see", "_instance": "Z", "_outputPath": "†state.r" }]);
    let answer = run(&place, &json!([state()]), &[call.clone(), call], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    for tick in 0..2 {
        let ended = end(&place, &format!("root/tick[{tick}]/call:see[0]"));
        assert!(ended.as_str().is_some_and(|text| text.starts_with("InstanceError")), "tick {tick}: {ended}");
    }
}

/// Where the tool fixes the instance, its failure belongs to that one, also if the Call does not say so.
#[test]
fn a_failure_stays_with_the_instance_that_its_tool_fixes() {
    let place = place(SEE, "false");
    let context = json!([state(), { "type": "state", "own": "sA", "_instance": "A" }]);
    let fail = json!([{ "_tool": "fixed", "_outputPath": "†data.x" }]);
    let pry = json!([
        { "_tool": "see", "v": "†error.error.message", "_outputPath": "†data.y" },
        { "_tool": "see", "_scopes": ["error"], "_outputPath": "†data.z" },
        { "_tool": "see", "_instance": "A", "v": "†error.error.message", "_outputPath": "†data.own" },
    ]);
    let answer = run(&place, &context, &[fail, pry], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    for at in 0..2 {
        let ended = end(&place, &format!("root/tick[1]/call:see[{at}]"));
        assert!(!ended.to_string().contains("sA") && ended.is_string(), "{at}: {ended}");
    }
    assert_eq!(end(&place, "root/tick[1]/call:see[2]"), "of A: sA");
}

/// A scope of which an instance would see nothing is refused, as one that names nothing at all.
#[test]
fn a_scope_names_something_of_the_instance() {
    let place = place(SEE, "false");
    let context = json!([
        { "type": "data", "kind": "note", "data": { "n": 1 }, "_instance": "A" },
        { "type": "state", "own": 2, "_instance": "B" },
    ]);
    let call = |of: &str| json!({ "_tool": "see", "_instance": of, "_scopes": ["note"], "_outputPath": "†data.x" });
    let found = ends(&place, &context, &[call("A"), call("B")]);
    let refused = "ScopeError: scope \"note\" names no message of _instance \"B\"; it is there for: A";
    assert_eq!(found, [json!({ "note": { "n": 1 } }), json!(refused)]);
}

/// A delegate that declares an input gets the parameters last, whatever input is scoped to it.
#[test]
fn a_delegate_gets_the_parameters_last() {
    let registers = r#"
Tool.register("ask", { properties: { x: {}, _delegate: { const: "D" }, _scopes: {}, _outputPath: place } });
Delegate.register("D", { context: [{ type: "input", tone: "kind", x: 0 }] });
"#;
    let place = place(registers, "false");
    let reply = json!([{ "structuredOutput": { "calls": [], "output": 1 } }]);
    for (scopes, shown) in [
        (json!(["input"]), json!({ "tone": "kind", "x": 7, "of": "parent" })),
        (json!([]), json!({ "tone": "kind", "x": 7 })),
    ] {
        let place = Place::new()
            .file("flows/walls.ts", &std::fs::read_to_string(place.dir().join("flows/walls.ts")).expect("it is there"));
        let call = json!([{ "_tool": "ask", "x": 7, "_scopes": scopes, "_outputPath": "†data.x" }]);
        let context = json!([{ "type": "input", "x": "PARENT", "of": "parent" }]);
        let answer = run(&place, &context, &[call], json!({ "D": reply }));
        assert_eq!(answer.code, Some(0), "{answer}");
        let path = "root/tick[0]/call:ask[0]/delegate:D/tick[0]/request";
        let block = place.get(&format!("block r {path}")).to_string();
        let text = block.split("¶input").nth(1).unwrap_or_else(|| panic!("no input: {block}")).replace("\\n", "");
        let text = text.replace("\\\"", "\"").replace(' ', "");
        let told = &text[..text.find('}').expect("an object") + 1];
        assert_eq!(serde_json::from_str::<Value>(told).expect("JSON"), shown, "{scopes}");
    }
}

/// A result is not written below a list or a single value: what is there would be lost.
#[test]
fn lists_are_not_overwritten_from_below() {
    let place = place(SEE, "false");
    let context = json!([
        { "type": "data", "kind": "note", "data": { "list": [1, 2, 3], "one": 5 } },
        { "type": "data", "kind": "arr", "data": [1, 2] },
    ]);
    let call = |path: &str| json!({ "_tool": "see", "v": 9, "_outputPath": path });
    let found =
        ends(&place, &context, &[call("†note.list.0"), call("†arr.x"), call("†note.one.x"), call("†note.new.x")]);
    for ended in &found[..3] {
        assert!(ended.as_str().is_some_and(|text| text.starts_with("OutputPathError")), "{found:?}");
    }
    assert_eq!(found[3], 9);
}

/// A Call whose result cannot be written is the one that failed. What made the result did not, and the place of a
/// failure stays empty, because the tool did not throw.
#[test]
fn a_call_fails_if_its_result_cannot_be_written() {
    let registers = r#"
Tool.register("give", { properties: { v: {}, _outputMethod: place, _outputPath: place } });
Activity.register("give", ({ v }) => v === "elsewhere" ? { _outputPath: "†state.other", value: 1 } : v);
Tool.register("made", { properties: { _output: {}, _outputPath: place } });
"#;
    let place = place(registers, "false");
    let give = |v: Value, path: &str| json!({ "_tool": "give", "v": v, "_outputPath": path });
    let with = |mut call: Value, method: &str| {
        call["_outputMethod"] = method.into();
        call
    };
    let calls = json!([
        with(give(json!("text"), "†data.list"), "concat"),
        with(give(json!(1), "†vault.k"), "push"),
        give(json!("elsewhere"), "†state.good || †state.bad"),
        give(json!(5), "†state"),
        { "_tool": "made", "_output": 5, "_outputPath": "†state" },
        give(json!(7), "†state.fine"),
    ]);
    let answer = run(&place, &json!([state(), vault()]), &[calls], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let told = place.get("block r root/tick[0]")["output"]["messages"].clone();
    for (at, why) in [
        "_outputMethod \"concat\" adds a list to †data.list, and the result is \"text\"",
        "†vault.k cannot grow: it is no list, but \"s3cret\"",
        "the result chooses †state.other, which is none of its call's places: †state.good, †state.bad",
        "†state as a whole is an object, and the result is 5",
        "†state as a whole is an object, and the result is 5",
    ]
    .into_iter()
    .enumerate()
    {
        let tool = if at == 4 { "made" } else { "give" };
        let path = format!("root/tick[0]/call:{tool}[{at}]");
        let block = place.get(&format!("block r {path}"))["block"].clone();
        assert_eq!((&block["status"], &block["error"]["message"]), (&json!("failed"), &json!(why)), "{block}");
        if tool == "give" {
            let activity = place.get(&format!("block r {path}/activity:give"));
            assert_eq!(activity["block"]["status"], "completed", "{activity}");
        }
        assert_eq!(told[at]["data"]["error"], json!({ "name": "OutputPathError", "message": why }), "{told}");
    }
    assert_eq!(place.get("state --request r")["callState"], json!({ "s": 1, "fine": 7 }));
    assert_eq!(place.ask("replay r").json()["identical"], true);
    let shown = place.run(&["show", "r", "--tree", "--unfolded"]);
    assert!(shown.stdout.contains("✗ failed     †state as a whole"), "{shown}");
}

/// A latent Call whose tool declares no `_output` has to hold it all the same, where it is to be written.
#[test]
fn a_latent_call_holds_its_result() {
    let registers = r#"
Tool.register("think", { properties: { _outputPath: place } });
Tool.register("always", { properties: { _output: { const: 3 }, _outputPath: place } });
"#;
    let place = place(registers, "false");
    let calls = [
        json!({ "_tool": "think", "_outputPath": "†data.x" }),
        json!({ "_tool": "think", "_output": 2, "_outputPath": "†data.y" }),
        json!({ "_tool": "always", "_outputPath": "†data.z" }),
    ];
    let found = ends(&place, &json!([state()]), &calls);
    assert!(found[0].as_str().is_some_and(|text| text.starts_with("CallArgumentsError")), "{found:?}");
    assert_eq!(found[1..], [json!(2), json!(3)]);
}

/// An output that does not fit its schema, also a missing one, is fed back; the third in a row fails.
#[test]
fn an_output_that_never_fits_fails_soon() {
    let flow = r#"
import { defineFlow } from "@flow-state-dev/core";
import { Agent } from "acts";
const schema = { type: "object", properties: { r: { type: "string" } }, required: ["r"] };
const agent = Agent({ name: "g", model: "m", schema, context: [] });
export default defineFlow({ kind: "walls", actions: { go: { block: agent } } });
"#;
    for output in [json!(null), json!({ "r": 5 })] {
        let reply = json!({ "structuredOutput": { "calls": [], "output": output } });
        let mut replies = vec![reply; 2];
        replies.push(json!({ "structuredOutput": { "calls": [], "output": { "r": "fits" } } }));
        for (first, code) in [(0, 0), (1, 3)] {
            let mut replies = replies.clone();
            if first == 1 {
                replies[2] = replies[0].clone();
            }
            let place = Place::new().file("flows/walls.ts", flow);
            place.write("flows/walls.mock.json", json!({ "generators": { "g": replies } }).to_string());
            let answer = place.ask("run walls go --user u --request r --mock");
            assert_eq!(answer.code, Some(code), "{output}: {answer}");
            if code == 3 {
                assert_eq!(answer.json()["error"]["name"], "CallOutputError", "{answer}");
            }
        }
    }
}

/// An edited Call keeps how its result meets what is there; its result is noted under the tool that made it.
#[test]
fn an_edited_call_is_noted_as_what_ran() {
    let registers = r#"
Tool.register("one", { properties: { _outputMethod: {}, _outputPath: place } });
Activity.register("one", () => 1);
Tool.register("two", { properties: { _outputMethod: {}, _outputPath: place, _activity: { const: "one" } } });
"#;
    let place = place(registers, "true");
    let call = json!([{ "_tool": "one", "_outputPath": "†data.x" }]);
    assert_eq!(run(&place, &json!([state()]), &[call], Value::Null).code, Some(4));
    let submit = |call: Value| place.run(&["resume", "r", "--mock", "--json", "--submit", &call.to_string()]);
    let grown = submit(json!({ "_tool": "two", "_outputPath": "†data.x", "_outputMethod": "push" }));
    assert_eq!(grown.code, Some(2), "{grown}");
    let edited = submit(json!({ "_tool": "two", "_outputPath": "†data.x" }));
    assert_eq!(edited.code, Some(0), "{edited}");
    assert_eq!(end(&place, "root/tick[0]")["messages"][0]["_call"], "two");
}

/// One function may run the Calls of two tools: each block has the name of its own.
#[test]
fn an_activity_has_its_own_name() {
    let registers = r#"
Tool.register("one", { properties: { _outputPath: place } });
Activity.register("one", see);
Tool.register("two", { properties: { _outputPath: place } });
Activity.register("two", see);
"#;
    let place = place(registers, "false");
    let call = json!([{ "_tool": "two", "_outputPath": "†data.x" }]);
    assert_eq!(run(&place, &json!([state()]), &[call], Value::Null).code, Some(0));
    assert_eq!(place.get("block r root/tick[0]/call:two[0]/activity:two")["block"]["name"], "two");
}

/// References under keys with dots and slashes are shown with the value that was passed.
#[test]
fn references_under_any_key_show_their_value() {
    let place = place(SEE, "false");
    let call = json!([{ "_tool": "see", "v": { "a.b": { "c/d": "†state.s" } }, "_outputPath": "†data.x" }]);
    assert_eq!(run(&place, &json!([state()]), &[call], Value::Null).code, Some(0));
    let events = place.get("events r");
    let is_call = |event: &&Value| event["kind"] == "block_started" && event["path"] == "root/tick[0]/call:see[0]";
    let call = events.as_array().expect("events").iter().find(is_call).expect("a call");
    let shown = json!([{ "at": "v.a.b.c/d", "reference": "†state.s", "value": 1 }]);
    assert_eq!(call["payload"]["input"]["value"]["references"], shown);
}

/// Three thousand references into one state: each is looked up, and not the whole state copied for it.
#[test]
fn many_references_into_much_data_are_looked_up() {
    let place = place(SEE, "false");
    let mut data = serde_json::Map::new();
    (0..2_000).for_each(|n| drop(data.insert(format!("k{n}"), json!("some text ".repeat(6)))));
    data.insert("type".to_owned(), "state".into());
    let list: Vec<String> = (0..3_000).map(|n| format!("†state.k{}", n % 2_000)).collect();
    let call = json!([{ "_tool": "see", "v": list, "_outputPath": "†data.x" }]);
    place.write("context.json", json!([data]).to_string());
    let reply = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let replies = json!({ "generators": { "g": [reply(call, Value::Null), reply(json!([]), json!("done"))] } });
    place.write("flows/walls.mock.json", replies.to_string());
    let answer = place.ask("run walls go --user u --request r --input @context.json --mock");
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(end(&place, "root/tick[0]/call:see[0]").as_array().map(Vec::len), Some(3_000));
}

/// Whoever approves a Call on the command line is shown what it would see.
#[test]
fn the_command_line_shows_what_is_to_be_approved() {
    let registers = r#"
Tool.register("pay", { properties: { amount: {}, _scopes: { const: ["vault"] }, _outputPath: place } });
Activity.register("pay", see);
Tool.register("ask", { properties: { amount: {}, _delegate: { const: "D" }, _scopes: { const: ["vault"] }, _outputPath: place } });
Delegate.register("D", { context: [{ type: "system", message: "You are D." }] });
"#;
    for (tool, words) in [("pay", vec!["s3cret", "4711"]), ("ask", vec!["s3cret", "4711", "You are D."])] {
        let place = place(registers, "true");
        let mut long = vault();
        long["data"] = json!({ "text": "long ".repeat(50), "k": "s3cret" });
        let call = json!([{ "_tool": tool, "amount": 4711, "_outputPath": "†data.x" }]);
        let asked = run(&place, &json!([state(), long]), &[call], Value::Null);
        assert_eq!(asked.code, Some(4), "{asked}");
        let path = format!("root/tick[0]/call:{tool}[0]");
        for line in [vec!["suspensions"], vec!["block", "r", &path], vec!["show", "r"]] {
            let answer = place.run(&line);
            let text = format!("{}{}", answer.stdout, answer.stderr);
            for word in &words {
                assert!(text.contains(word), "{line:?} does not show {word}:\n{answer}");
            }
        }
    }
}
