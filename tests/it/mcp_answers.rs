//! Rules for every answer of `flowglass mcp`: it keeps to its budget, proposes valid calls, refuses arguments without
//! effect, and names secrets that it cannot hide.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::bench::Place;

use crate::debug::{line_of, recorded};

/// A flow with long names, long texts and a secret.
const LONG: &str = r#"
const name = "f".repeat(5_000);
const make = handler({ name: "make", execute: async (input: any, ctx: any) => {
  const value = { [name]: "v".repeat(5_000), token: process.env.TOKEN };
  await ctx.session.patchState({ long: value });
  console.log("l".repeat(5_000));
  return value;
} });
const fail = handler({ name: "fail", execute: () => { throw new Error("e".repeat(5_000)); } });
const pipe = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ long: z.any() }) },
  actions: { go: { block: make }, bad: { block: pipe("bad").step(make).step(fail) } },
});
"#;

fn long() -> Place {
    let place = Place::with_flow(LONG)
        .file("flowglass.json", r#"{ "env": { "TOKEN": { "valueEnv": "TOKEN" } } }"#)
        .variable("TOKEN", "t0p-s3cr3t-value");
    place.get("run main go --user ada --session s --request r1 --input 1");
    assert_eq!(place.ask("run main bad --user ada --session s --request r2 --input 1").code, Some(3));
    place
}

/// Calls of every tool that show recorded values.
fn calls(place: &Place) -> Vec<(&'static str, Value)> {
    let at = format!("flows/main.ts:{}", line_of(place, "return value"));
    let many: Vec<String> = (0..100).map(|n| format!("value.token + {n}")).collect();
    vec![
        ("find", json!({})),
        ("find", json!({ "what": "errors" })),
        ("find", json!({ "text": "vvv" })),
        ("look", json!({ "request": "r1" })),
        ("look", json!({ "request": "r2", "at": "root/step:fail" })),
        ("look", json!({ "request": "r1", "what": "state" })),
        ("look", json!({ "request": "r1", "what": "events" })),
        ("look", json!({ "uri": "flowglass://request/r1/output" })),
        ("diff", json!({ "request": "r1", "with": "r2" })),
        ("diff", json!({ "request": "r1", "from": "1", "to": "root" })),
        ("why", json!({ "request": "r1", "place": "session.long" })),
        ("why", json!({ "request": "r1", "with": "r2" })),
        ("print", json!({ "at": at, "expressions": many })),
        ("print", json!({ "at": at, "expressions": [format!("value[\"{}\"]", "f".repeat(5_000)), "value"] })),
        ("print", json!({ "at": at, "expressions": [format!("value.{}.x.x", "g".repeat(5_000))] })),
        ("run", json!({ "do": "retry", "request": "r1" })),
        ("run", json!({ "do": "replay", "request": "r1" })),
        ("compare", json!({})),
    ]
}

#[test]
fn every_tool_keeps_to_its_budget_and_proposes_calls_that_its_schema_takes() {
    let place = long();
    let mut agent = Agent::start_in(place.dir(), &[("TOKEN", "t0p-s3cr3t-value")]);
    let listed = agent.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    for (tool, arguments) in calls(&place) {
        for limit in [200, 1_500] {
            let mut arguments = arguments.clone();
            arguments["limit"] = json!(limit);
            let answer = agent.get(tool, arguments.clone());
            let structured = answer.structured.to_string();
            assert!(answer.text.len() <= limit * 4, "{tool} {arguments}: {}\n{}", answer.text.len(), answer.text);
            assert!(structured.len() <= limit * 4, "{tool} {arguments}: {}\n{structured}", structured.len());
            assert!(!answer.text.contains("Not hidden"), "{}", answer.text);
            for next in answer.structured["next"].as_array().into_iter().flatten() {
                let schema = tools.iter().find(|tool| tool["name"] == next["tool"]).expect("a tool");
                for (name, value) in next["arguments"].as_object().expect("arguments") {
                    let property = &schema["inputSchema"]["properties"][name];
                    let is_right = property["type"] != "string" || value.is_string();
                    assert!(!property.is_null() && is_right, "{tool} {arguments} proposes {next}");
                }
            }
        }
    }
    let at = format!("flows/main.ts:{}", line_of(&place, "return value"));
    let many: Vec<String> = (0..100).map(|n| format!("{n} + 1")).collect();
    let printed = agent.get("print", json!({ "at": at, "expressions": many, "request": "r1", "limit": 400 }));
    assert!(printed.text.contains("more expressions from \""), "{}", printed.text);
    assert!(printed.structured["rows"][0]["leftOut"].as_u64().is_some_and(|left| left > 0), "{}", printed.structured);
    // The number of an event is proposed as a string.
    let found = agent.get("find", json!({ "text": "vvv" }));
    assert!(found.structured["next"][0]["arguments"]["at"].is_string(), "{}", found.structured);
}

#[test]
fn answers_name_secrets_that_cannot_be_hidden() {
    let place = long().without_variables();
    let mut agent = Agent::start(place.dir(), &[]);
    for (tool, arguments) in calls(&place) {
        let answer = agent.get(tool, arguments.clone());
        assert!(answer.text.contains("Not hidden: TOKEN is not set here"), "{tool} {arguments}: {}", answer.text);
        assert_eq!(answer.structured["unsetVariables"], json!(["TOKEN"]), "{tool} {arguments}");
    }
    let read = agent.request("resources/read", json!({ "uri": "flowglass://request/r1/output" }));
    assert!(read.to_string().contains("Not hidden: TOKEN is not set here"), "{read}");
    // A placeholder that a client did not expand is not a value.
    let mut unexpanded = Agent::start_in(place.dir(), &[("TOKEN", "${TOKEN}")]);
    assert!(unexpanded.get("find", json!({})).text.contains("TOKEN is not set here"));
    let config = place.run(&["mcp", "--print-config"]).stdout;
    assert!(config.contains("\"TOKEN\": \"${TOKEN}\"") && config.contains("env_vars = [\"TOKEN\"]"), "{config}");
}

#[test]
fn arguments_without_effect_are_refused() {
    let place = recorded();
    let mut agent = Agent::start(place.dir(), &[]);
    let run = |what: &str, more: Value| {
        let mut arguments = json!({ "do": what, "request": "good" });
        if what == "run" {
            arguments = json!({ "do": what, "flow": "main", "action": "pay" });
        }
        for (name, value) in more.as_object().expect("arguments") {
            arguments[name] = value.clone();
        }
        arguments
    };
    let cases = [
        ("run", run("retry", json!({ "input": 1 })), "input"),
        ("run", run("retry", json!({ "set": { "session.plan": 1 } })), "set"),
        ("run", run("retry", json!({ "output": 1 })), "output"),
        ("run", run("run", json!({ "set": { "session.plan": 1 } })), "set"),
        ("run", run("run", json!({ "output": 1 })), "output"),
        ("run", run("run", json!({ "request": "good" })), "request"),
        ("run", run("run", json!({ "answer": "approve" })), "answer"),
        ("run", run("verify", json!({ "at": "root" })), "at"),
        ("run", run("verify", json!({ "flow": "main" })), "flow"),
        ("run", run("replay", json!({ "at": "root" })), "at"),
        ("run", run("abort", json!({ "at": "root" })), "at"),
        ("run", run("resume", json!({ "data": 1 })), "data"),
        ("why", json!({ "request": "good", "place": "session.plan", "at": "root" }), "at"),
        ("why", json!({ "request": "good", "with": "bad", "at": "root" }), "at"),
        ("look", json!({ "request": "good", "what": "state", "view": "client" }), "view"),
        ("look", json!({ "request": "good", "view": "client" }), "view"),
        ("look", json!({ "uri": "flowglass://request/good/input", "request": "good" }), "request"),
        ("print", json!({ "at": "flows/main.ts:20", "expressions": ["1"], "request": "good", "flow": "main" }), "flow"),
    ];
    for (tool, arguments, argument) in cases {
        let refused = agent.refused(tool, arguments.clone());
        assert!(
            refused.starts_with(&format!("argument `{argument}` has no effect on ")),
            "{tool} {arguments}: {refused}"
        );
        assert!(refused.contains("leave it out"), "{refused}");
    }
}

/// A plan is refused whenever the action would be, and the error names the argument of the tool.
#[test]
fn a_plan_is_refused_if_the_action_would_be() {
    let place = recorded();
    let pay = |user: &str, session: Value| {
        json!({ "do": "run", "flow": "main", "action": "pay", "user": user, "session": session,
            "input": { "items": [{ "price": 1, "count": 1 }] } })
    };
    let session = place.get("show good")["request"]["sessionId"].clone();
    let mut agent = Agent::start(place.dir(), &["--trust"]);
    let cases = [
        (pay("bob", session), "argument `user` or `session`: session "),
        (pay("", Value::Null), "argument `user`: user id \"\" must not be empty"),
        (pay("a\nb", Value::Null), "argument `user`: user id"),
        (json!({ "do": "abort", "request": "good" }), "argument `request`: "),
        (json!({ "do": "resume", "request": "good" }), "argument `request`: "),
    ];
    for (arguments, words) in cases {
        for confirm in [false, true] {
            let mut arguments = arguments.clone();
            arguments["confirm"] = json!(confirm);
            let refused = agent.refused("run", arguments.clone());
            assert!(refused.starts_with(words), "{arguments}: {refused}");
            assert!(!refused.contains("--"), "no flag of the command line: {refused}");
        }
    }
    let nowhere = agent.refused("run", json!({ "do": "verify", "flow": "no" }));
    assert!(nowhere.starts_with("argument `flow`: "), "{nowhere}");
    let text = agent.refused("why", json!({ "request": "good", "at": "root", "text": "nowhere at all" }));
    assert!(text.contains("`find` looks in all requests") && !text.contains("`search`"), "{text}");
    // If no person trusts the folder, a plan does not promise an action that would be refused.
    let mut careful = Agent::start(place.dir(), &[]);
    let told = careful.get("run", pay("ada", Value::Null));
    assert!(told.text.contains("does it once a person trusts the folder"), "{}", told.text);
}

/// One request that asks two things at once.
const TWO: &str = r#"
const ask = (name: string) => handler({ name, execute: async (_input: any, ctx: any) =>
  ctx.suspend({ reason: "human_input", message: `Which ${name}?`, resumeSchema: z.any(), allow: ["submit", "reject"] }) });
export default defineFlow({
  kind: "main",
  actions: { two: { block: sequencer({ name: "top", inputSchema: z.any() }).parallel({ size: ask("size"), color: ask("color") }) } },
});
"#;

#[test]
fn an_answer_says_which_of_several_open_questions_it_is_for() {
    let place = Place::with_flow(TWO);
    assert_eq!(place.ask("run main two --user ada --session s --request r --input 1").code, Some(4));
    let mut agent = Agent::start(place.dir(), &["--trust"]);
    let listed = agent.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let run = tools.iter().find(|tool| tool["name"] == "run").expect("run");
    assert_eq!(run["inputSchema"]["properties"]["suspension"]["type"], "string", "{run:#}");
    // Each open question is shown with its id, also in the text.
    let looked = agent.get("look", json!({ "request": "r" }));
    let rows = looked.structured["rows"].as_array().expect("rows");
    let id_of = |path: &str| {
        let row = rows.iter().find(|row| row["path"] == path && row["suspension"].is_string());
        row.and_then(|row| row["suspension"].as_str()).expect("a question").to_owned()
    };
    let (size, color) = (id_of("root/parallel/size"), id_of("root/parallel/color"));
    assert!(looked.text.contains(&size) && looked.text.contains(&color), "{}", looked.text);

    let answer = |more: Value| {
        let mut all = json!({ "do": "resume", "request": "r", "answer": "submit", "data": 7 });
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    for confirm in [false, true] {
        let missing = agent.refused("run", answer(json!({ "confirm": confirm })));
        assert!(missing.starts_with("argument `suspension` is missing: r asks several things"), "{missing}");
        for known in [&*size, &*color, "Which size?", "Which color?", "root/parallel/color", "takes submit, reject"] {
            assert!(missing.contains(known), "{known}: {missing}");
        }
        let other = agent.refused("run", answer(json!({ "confirm": confirm, "suspension": "sus_none" })));
        assert!(other.starts_with("argument `suspension`: \"sus_none\" is no question of r"), "{other}");
        assert!(other.contains(&size), "{other}");
    }
    let alone = json!({ "do": "resume", "request": "r", "suspension": size });
    let alone = agent.refused("run", alone);
    assert!(alone.contains("argument `suspension` has no effect on a resume without `answer`"), "{alone}");

    let first = agent.get("run", answer(json!({ "suspension": color, "confirm": true })));
    assert!(first.text.contains(" is suspended.") && first.text.contains(&size), "{}", first.text);
    let again = agent.refused("run", answer(json!({ "suspension": color, "confirm": true })));
    assert!(again.starts_with("argument `suspension`, `answer` or `data`: ") && again.contains("already"), "{again}");
    // The only remaining question need not be named.
    let last = agent.get("run", answer(json!({ "confirm": true })));
    assert!(last.text.contains("output {\"size\":7,\"color\":7}"), "{}", last.text);
}

/// The placeholder of a secret is longer than a short secret.
#[test]
fn an_answer_full_of_short_secrets_keeps_to_its_budget() {
    let flow = r#"
const make = handler({ name: "make", execute: (input: any) => {
  const key = process.env.TOKEN;
  const all = Array.from({ length: 3000 }, () => key);
  return { all, joined: all.join("") };
} });
export default defineFlow({ kind: "main", actions: { go: { block: make } } });
"#;
    let place = Place::with_flow(flow)
        .file("flowglass.json", r#"{ "env": { "TOKEN": { "valueEnv": "TOKEN" } } }"#)
        .variable("TOKEN", "k3y-9876");
    place.get("run main go --user ada --session s --request r1 --input 1");
    let mut agent = Agent::start_in(place.dir(), &[("TOKEN", "k3y-9876")]);
    let at = format!("flows/main.ts:{}", line_of(&place, "return { all"));
    let calls = [
        ("print", json!({ "at": at, "expressions": ["all.slice(0, 40)", "all.slice(40, 90)", "all.join(\"\")"] })),
        ("look", json!({ "request": "r1" })),
        ("look", json!({ "uri": "flowglass://request/r1/output" })),
        ("look", json!({ "request": "r1", "what": "events" })),
    ];
    for (tool, arguments) in calls {
        for limit in [200, 1_500, 5_000] {
            let mut arguments = arguments.clone();
            arguments["limit"] = json!(limit);
            let answer = agent.get(tool, arguments.clone());
            let (text, structured) = (answer.text.len(), answer.structured.to_string().len());
            assert!(text <= limit * 4 && structured <= limit * 4, "{tool} {arguments}: {text} and {structured}");
            assert!(!answer.text.contains("k3y-9876"), "{tool} {arguments}: {}", answer.text);
        }
    }
}
