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

fn place(registers: &str, confirm: &str) -> Place {
    let place = Place::new().file("flows/walls.ts", &file(registers, confirm));
    let checked = place.ask("check");
    assert_eq!(checked.code, Some(0), "{checked}");
    place
}

/// Runs it with solutions of these Calls, one after the other, and then a last one; `others` are those of delegates.
fn run(place: &Place, context: &Value, ticks: &[Value], others: Value) -> Answer {
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
fn end(place: &Place, path: &str) -> Value {
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
fn ends(place: &Place, context: &Value, calls: &[Value]) -> Vec<Value> {
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

fn state() -> Value {
    json!({ "type": "state", "s": 1 })
}

fn vault() -> Value {
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
        ("{ properties: { id: { pattern: \"(\" } } }", "is no JSON Schema: "),
        ("{ properties: { id: { type: 5 } } }", "is no JSON Schema: "),
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

/// One Activity leaves data at everything that the engine provides, and another one looks for it there.
const SPILL: &str = r#"
import * as core from "@flow-state-dev/core";
import * as builder from "@standardagents/builder";
import * as acts from "acts";
import { z as z4 } from "zod/v4";
import * as zod3 from "zod/v3";
const meta = import.meta;
const provided = { z, z4, zod3, core, builder, acts, meta, c4: z4.core, u4: z4.core.util };
/** What `import * as` makes of a module is an object of the file's own. */
const own = new Set([zod3, core, builder, acts]);
const t = (f) => { try { return String(f()); } catch (error) { return error.name; } };
function walk(each) {
  const seen = new Set();
  const next = Object.entries(provided);
  while (next.length > 0) {
    const [at, one] = next.pop();
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
    seen.add(one);
    each(at, one);
    next.push([`${at}.[[prototype]]`, Object.getPrototypeOf(one)]);
    for (const key of Reflect.ownKeys(one)) {
      try { next.push([`${at}.${String(key)}`, one[key]]); } catch { /* A getter that wants another `this`. */ }
    }
  }
  return seen.size;
}
Tool.register("spill", { properties: { _scopes: { const: ["vault"] }, _outputPath: place } });
Activity.register("spill", (_call, { vault }) => {
  const open = [];
  const count = walk((at, one) => {
    if (own.has(one)) return;
    try { one.leak = vault.k; } catch { /* As it should be. */ }
    try { Object.defineProperty(one, "leak", { value: vault.k }); } catch { /* As it should be. */ }
    for (const key of Reflect.ownKeys(one)) {
      const own = Reflect.getOwnPropertyDescriptor(one, key);
      if (one[Symbol.toStringTag] !== "Module" && (own.writable || own.configurable)) open.push(`${at}.${String(key)}`);
    }
    if (one instanceof Map || one instanceof WeakMap) {
      t(() => Map.prototype.set.call(one, "leak", vault.k));
      t(() => one.set("leak", vault.k));
      t(() => one.set(Object.prototype, vault.k));
    }
    if (one instanceof Set) {
      t(() => Set.prototype.add.call(one, vault.k));
      t(() => one.add(vault.k));
    }
    if (Array.isArray(one)) t(() => one.push(vault.k));
    if (one instanceof RegExp) t(() => (one.lastIndex = 7));
    if (one instanceof Date) t(() => one.setTime(7));
  });
  const tried = [
    t(() => z.setErrorMap(() => ({ message: vault.k }))),
    t(() => zod3.setErrorMap(() => ({ message: vault.k }))),
    t(() => z4.config({ customError: () => vault.k })),
    t(() => z4.setErrorMap(() => vault.k)),
    t(() => z4.globalRegistry.add(z4.string(), { id: vault.k })),
    t(() => z4.globalRegistry.add(Object.prototype, { v: vault.k })),
    t(() => z4.globalRegistry.clear()),
    t(() => { Object.getPrototypeOf(new z4.ZodRealError([])).leak = vault.k; }),
    t(() => { Object.getPrototypeOf(Object.getPrototypeOf(z4.string())).leak = vault.k; }),
    t(() => { setTimeout(() => {}, 0); setTimeout(() => {}, 0); }),
    t(() => { /s3/.exec(vault.k); }),
  ];
  return { count: count > 1000, open, tried };
});
Tool.register("pry", { properties: { _outputPath: place } });
Activity.register("pry", () => {
  const found = [];
  walk((at, one) => {
    const own = t(() => one.leak);
    if (own.includes("s3cret")) found.push(at);
    if (one instanceof Map && t(() => [...one].flat().map(String).join()).includes("s3cret")) found.push(`${at} holds it`);
    if (one instanceof Map && t(() => one.get("leak") ?? one.get(Object.prototype)).includes("s3cret")) found.push(`${at} gives it`);
    if (one instanceof Set && t(() => [...one].join()).includes("s3cret")) found.push(`${at} has it`);
    if (one instanceof RegExp && one.lastIndex === 7) found.push(`${at}.lastIndex`);
  });
  const messages = [z, z4, zod3].map((lib) => lib.string().safeParse(5).error.issues[0].message).join();
  const legacy = ["$_", "input", "$1", "lastMatch"].map((key) => t(() => RegExp[key])).join();
  const timer = setTimeout(() => {}, 0);
  return { found, messages, legacy, timer };
});
Tool.register("use", { properties: { _outputPath: place } });
Activity.register("use", () => {
  const told = z4.object({ d: z4.email(), e: z4.enum(["a"]), f: z4.string().describe("said") });
  const three = z.object({ d: z.string().email(), r: z.string().regex(/^a/g), o: z.string().optional() });
  return [
    told.parse({ d: "a@b.co", e: "a", f: "" }).d,
    three.parse({ d: "a@b.co", r: "abc" }).d,
    told.shape.f.description,
    z4.string().meta({ title: "T" }).meta().title,
    z.union([z.literal(1), z.literal(2)]).safeParse(3).success,
    z4.record(z4.string(), z4.number()).parse({ a: 1 }).a,
    JSON.stringify(z4.toJSONSchema(z4.object({ a: z4.int() }))).length > 10,
    t(() => z4.string().parse(5)), t(() => z.string().parse(5)),
  ];
});
"#;

#[test]
fn nothing_is_left_at_what_the_engine_provides() {
    let place = place(SPILL, "false");
    let call = |tool: &str| json!([{ "_tool": tool, "_outputPath": format!("†data.{tool}") }]);
    let context = json!([state(), vault()]);
    let answer = run(&place, &context, &[call("spill"), call("pry"), call("use")], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let spilt = end(&place, "root/tick[0]/call:spill[0]");
    assert_eq!(spilt["open"], json!([]), "{spilt}");
    assert_eq!(spilt["count"], true);
    let refused = |at: usize| spilt["tried"][at].as_str().is_some_and(|text| text.ends_with("Error"));
    assert!((0..9).filter(|at| *at != 4).all(refused), "{}", spilt["tried"]);
    let found = end(&place, "root/tick[1]/call:pry[0]");
    assert_eq!(found["found"], json!([]), "{found}");
    assert!(!found.to_string().contains("s3"), "{found}");
    assert_eq!(found["timer"], 1, "the number of a timer tells how many others have");
    let used = end(&place, "root/tick[2]/call:use[0]");
    let error = "ZodError";
    let expected = json!(["a@b.co", "a@b.co", "said", "T", false, 1, true, error, error]);
    assert_eq!(used, expected);
}

/// What people write on objects of their own, and what the globals of every other file do, works with Calls as well.
#[test]
fn what_is_not_shared_stays_open() {
    let registers = r#"
const t = (f) => { try { const found = f(); return found === undefined ? "undefined" : found; } catch (error) { return `${error.name}: ${error.message}`; } };
Tool.register("own", { properties: { _outputPath: place } });
Activity.register("own", () => [
  t(() => Date.now() > 0), t(() => new Date().constructor === Date), t(() => Date.parse("2020-01-01T00:00:00Z")),
  t(() => { const m = new Map(); m.get = () => 3; return m.get(); }),
  t(() => { const a = []; a.map = 1; return a.map; }),
  t(() => { const f = () => 1; f.bind = 3; return f.bind; }),
  t(() => { const o = {}; o.hasOwnProperty = () => "own"; return o.hasOwnProperty(); }),
  t(() => { const o = [1]; o[Symbol.iterator] = function* () { yield 9; }; return [...o][0]; }),
  t(() => { function A() {} A.prototype = Object.create(Array.prototype); A.prototype.push = () => 5; return new A().push(); }),
  t(() => { const d = new Date(0); d.toJSON = () => "j"; return JSON.parse(JSON.stringify(d)); }),
  t(() => { class E extends Error { constructor() { super("m"); this.name = "E"; } } return String(new E()); }),
]);
"#;
    let place = place(registers, "typeof Date.now() !== 'number'");
    let call = json!([{ "_tool": "own", "_outputPath": "†data.x" }]);
    let answer = run(&place, &json!([state()]), &[call], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let expected = json!([true, true, 1577836800000_i64, 3, 1, 3, "own", 9, 5, "j", "E: m"]);
    assert_eq!(end(&place, "root/tick[0]/call:own[0]"), expected);
}

/// An Activity ends its own timers, and none of another's.
#[test]
fn timers_belong_to_whoever_set_them() {
    let registers = r#"
Tool.register("sleep", { properties: { _outputPath: place } });
Activity.register("sleep", async () => { await new Promise((done) => setTimeout(done, 60)); return "slept"; });
Tool.register("kill", { properties: { _outputPath: place } });
Activity.register("kill", async () => {
  for (let n = 0; n < 1000; n++) clearTimeout(n);
  const own = setTimeout(() => { throw new Error("it was ended"); }, 5);
  clearTimeout(own);
  await new Promise((done) => { let turns = 0; const each = setInterval(() => { if (++turns === 3) { clearInterval(each); done(); } }, 1); });
  return "ended";
});
"#;
    let place = place(registers, "false");
    let calls =
        [json!({ "_tool": "sleep", "_outputPath": "†data.a" }), json!({ "_tool": "kill", "_outputPath": "†data.b" })];
    assert_eq!(ends(&place, &json!([state()]), &calls), ["slept", "ended"]);
}

/// Three thousand references into one state: each is looked up, and not the whole state copied for it.
#[test]
fn many_references_into_much_data_take_no_time() {
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
    let began = std::time::Instant::now();
    let answer = place.ask("run walls go --user u --request r --input @context.json --mock");
    let took = began.elapsed();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(end(&place, "root/tick[0]/call:see[0]").as_array().map(Vec::len), Some(3_000));
    assert!(took < std::time::Duration::from_secs(8), "it took {took:?}");
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
