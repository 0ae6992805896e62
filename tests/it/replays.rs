//! Replays: a request once more, with what it got from outside then and the code of today. That every
//! flow of the other tests replays identically is told with its cases (`flows.rs`).

use serde_json::{Value, json};
use tests::bench::Place;
use tests::server::{Reply, Server};

/// Asks everything that a flow can ask the outside for, in branches that meet in another order than they begin.
const ASKS: &str = r#"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const late = handler({ name: "late", execute: async (_input, ctx) => { await pause(40); await ctx.request.pushState("order", "late"); return Math.random(); } });
const early = handler({ name: "early", execute: async (_input, ctx) => { await pause(5); await ctx.request.pushState("order", "early"); return [Date.now(), new Date().toISOString(), crypto.randomUUID()]; } });
const page = handler({ name: "page", execute: async (at) => { const answer = await fetch(at); return [answer.status, await answer.text()]; } });
const told = handler({ name: "told", execute: async (input, ctx) => {
  await ctx.session.appendJournal({ text: "noted" });
  ctx.emit.component("card", { order: ctx.request.state.order });
  return [input, ctx.request.state.order, (await ctx.session.getJournal()).length];
} });
const flaky = handler({ name: "flaky", retry: { maxAttempts: 3, baseDelayMs: 1 }, execute: async (_input, ctx) => {
  const n = Math.random();
  await ctx.session.pushState("tries", n);
  if (ctx.attempt < 2) throw new Error("again " + n);
  return n;
} });
const bot = generator({ name: "bot", model: "tiny", prompt: "Answer.", user: "Go" });
const hold = handler({ name: "hold", execute: async (_input, ctx) => { await ctx.runOnce("key", () => Math.random()); await pause(600_000); return "held"; } });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ tries: z.array(z.number()).default([]), n: z.number().default(0) }) },
  user: { stateSchema: z.object({ n: z.number().default(0) }) },
  request: { stateSchema: z.object({ order: z.array(z.string()).default([]) }) },
  actions: {
    all: { block: sequencer({ name: "all", inputSchema: z.any() }).parallel({ late, early, page }).step(told) },
    flaky: { block: flaky },
    bot: { block: bot },
    fails: { block: sequencer({ name: "fails" }).step(flaky).step(handler({ name: "no", execute: () => { throw new FlowError("no", { code: "no" }); } })) },
    holds: { block: sequencer({ name: "holds" }).parallel({ quick: early, hold }).step(told) },
    turns: { block: sequencer({ name: "turns" }).step(handler({ name: "mine", execute: async (_input, ctx) => { await ctx.user.incState({ n: 1 }); return ctx.user.state.n; } })).step(handler({ name: "wait", execute: () => pause(30) })).step(handler({ name: "yours", execute: async (_input, ctx) => { await ctx.user.incState({ n: 1 }); return ctx.user.state.n; } })) },
  },
});
"#;

/// What of the database must not change.
fn counted(place: &Place) -> Value {
    let stats = place.get("stats");
    json!([stats["events"], stats["items"], stats["requests"], stats["sessions"], stats["payloadBytes"]])
}

#[track_caller]
fn assert_identical(place: &Place, request: &str) {
    let before = counted(place);
    let answer = place.ask(&format!("replay {request}"));
    assert_eq!(answer.code, Some(0), "replay {request}\n{answer}");
    assert_eq!(answer.json()["identical"], true);
    assert!(answer.json()["compared"].as_u64().is_some_and(|blocks| blocks > 0), "{answer}");
    assert_eq!(counted(place), before, "a replay writes nothing");
}

#[test]
fn all_that_comes_from_outside_comes_from_the_log() {
    let page = Server::start([Reply::text("the page")]);
    let model = Server::start([Reply::message(json!({ "role": "assistant", "content": "hi" }), "stop")]);
    let config = json!({
        "fetch": { "allow": [page.host()] },
        "models": { "tiny": { "provider": "openai", "model": "tiny", "baseUrl": format!("{}/v1", model.address()) } },
    });
    let place = Place::with_flow(ASKS).file("flowglass.json", &config.to_string());
    let asked = place.ask(&format!("run main all --user ada --request all --input {}", json!(page.address())));
    assert_eq!(asked.code, Some(0), "{asked}");
    let said = place.ask("run main bot --user ada --request bot");
    assert_eq!(said.code, Some(0), "{said}");
    place.get("run main flaky --user ada --request flaky");
    assert_eq!(place.ask("run main fails --user ada --request fails").code, Some(3));
    for request in ["all", "bot", "flaky", "fails"] {
        assert_identical(&place, request);
    }
    assert_eq!((page.asked().len(), model.asked().len()), (1, 1), "no replay asked the outside");
}

#[test]
fn crashed_aborted_and_forked_requests_replay_as_well() {
    let place = Place::with_flow(ASKS);
    place.get("check");
    for how in ["KILL", "INT"] {
        let going = place.start(&format!("run main holds --user ada --request {how}"));
        place.until("the quick branch ended and the key is kept", |place| {
            let answer = place.ask(&format!("events {how} --kind effect_finished"));
            let effects = answer.json().as_array().map_or(0, Vec::len);
            let ends = place.ask(&format!("events {how} --kind block_finished"));
            (effects > 4 && ends.code == Some(0) && ends.json() != json!([])).then_some(())
        });
        going.signal(how);
        let _ = going.ended();
        assert_identical(&place, how);
    }
    place.edit(&ASKS.replace("600_000", "1"));
    for request in ["KILL", "INT"] {
        place.get(&format!("resume {request}"));
        assert_identical(&place, request);
        let forked = place.get(&format!("fork {request} --at root/parallel/quick"))["requestId"].clone();
        assert_identical(&place, forked.as_str().expect("an id"));
        let retried = place.get(&format!("retry {request}"))["requestId"].clone();
        assert_identical(&place, retried.as_str().expect("an id"));
    }
}

#[test]
fn two_sessions_of_one_user_that_met_replay_each_as_it_was() {
    let place = Place::with_flow(ASKS);
    place.get("check");
    for _ in 0..3 {
        let names =
            ["one", "two"].map(|name| format!("{name}-{}", place.get("requests").as_array().map_or(0, Vec::len)));
        let going = names
            .clone()
            .map(|name| place.start(&format!("run main turns --user ada --session {name} --request {name}")));
        for one in going {
            let ended = one.ended();
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        names.iter().for_each(|name| assert_identical(&place, name));
    }
}

/// A chain whose parts a test edits, and what the first difference then is.
const EDITED: &str = r#"
const first = handler({ name: "first", execute: async (input, ctx) => { await ctx.session.incState({ n: 1 }); ctx.emit.message("one"); return input + 1; } });
const bot = generator({ name: "bot", model: "tiny", prompt: "Answer.", user: "Go" });
const left = handler({ name: "left", execute: () => "L" });
const right = handler({ name: "right", execute: () => "R" });
const way = router({ name: "way", routes: [left, right], execute: () => left });
const fails = handler({ name: "fails", execute: () => { throw new Error("it broke"); } });
const saved = handler({ name: "saved", execute: () => "saved" });
export default defineFlow({ kind: "main", session: { stateSchema: z.object({ n: z.number().default(0) }) }, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.number() }).step(first).step(way).step(bot).step(fails.rescue([{ block: saved }])) },
} });
"#;

#[test]
fn edited_code_diverges_where_it_first_does_something_else() {
    let source = format!("import {{ router }} from \"@flow-state-dev/core\";\n{EDITED}");
    let place =
        Place::with_flow(&source).file("flows/main.mock.json", r#"{ "models": { "tiny": [{ "text": "hi" }] } }"#);
    place.get("run main go --user ada --session s --request r --input 1 --mock");
    assert_identical(&place, "r");
    let rows = [
        ("input + 1", "input + 2", "root/step:first", "{\"output\":2}", "{\"output\":3}"),
        ("n: 1 }); ctx", "n: 2 }); ctx", "root/step:first", "{\"n\":1}", "{\"n\":2}"),
        ("message(\"one\")", "message(\"two\")", "root/step:first", "\"one\"", "\"two\""),
        ("ctx.emit.message(\"one\"); ", "", "root/step:first", "\"one\"", "{\"output\":2}"),
        ("() => left", "() => right", "root/step:way", "{\"route\":\"left\"}", "{\"route\":\"right\"}"),
        ("it broke", "it bent", "root/step:fails", "it broke", "it bent"),
        ("return input + 1", "return input + 1 + 0 * Date.now()", "root/step:first", "no such call", "clock, call 1"),
        (".step(first)", "", "root/step:first", "{\"block\":\"first\"", "did not run"),
        (".step(way)", ".step(way).step(saved)", "root/step:saved", "did not run", "{\"block\":\"saved\""),
        (
            ".step(way)",
            ".step(handler({ name: \"newer\", execute: () => Math.random() }))",
            "root/step:newer",
            "did not run",
            "random, call 1",
        ),
        (
            "prompt: \"Answer.\"",
            "prompt: \"Ask.\"",
            "root/step:bot",
            "{\"model\":{\"messages[0].content\":\"Answer.\"}}",
            "{\"model\":{\"messages[0].content\":\"Ask.\"}}",
        ),
        (
            "\"saved\" })",
            "\"kept\" })",
            "root/step:fails/rescue:saved",
            "{\"output\":\"saved\"}",
            "{\"output\":\"kept\"}",
        ),
    ];
    let before = counted(&place);
    let ends = place.get("events r");
    let known: Vec<u64> = ends.as_array().expect("a list").iter().filter_map(|event| event["seq"].as_u64()).collect();
    for (was, is, path, recorded, found) in rows {
        assert!(source.contains(was), "{was}");
        place.edit(&source.replace(was, is));
        let answer = place.ask("replay r");
        assert_eq!(answer.code, Some(1), "{was} → {is}\n{answer}");
        let divergence = answer.json()["divergence"].clone();
        assert_eq!(divergence["path"], path, "{was} → {is}\n{divergence}");
        assert!(divergence["seq"].as_u64().is_some_and(|seq| known.contains(&seq)), "{was} → {is}\n{divergence}");
        for (field, part) in [("recorded", recorded), ("found", found)] {
            let told = match &divergence[field] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert!(told.contains(part), "{was} → {is}: {field} is {told}");
        }
    }
    assert_eq!(counted(&place), before);
    let people = place.run(&["replay", "r"]);
    assert!(
        people.stdout.contains("diverged at event") && people.stdout.contains("then") && people.stdout.contains("now"),
        "{people}"
    );
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let place = Place::with_flow(ASKS);
    place.get("run main flaky --user ada --request r");
    let refused = |request: &str, code: i32, says: &str| {
        let answer = place.ask(&format!("replay {request}"));
        assert_eq!(answer.code, Some(code), "{answer}");
        assert!(answer.stderr.contains(says), "it does not say {says:?}\n{answer}");
    };
    refused("nobody", 6, "unknown request \"nobody\"");
    place.write("flows/main.ts", "export default nonsense(;\n");
    refused("r", 1, "main.ts");
    place.edit(&ASKS.replace("    flaky: { block: flaky },\n", ""));
    refused("r", 6, "has no action \"flaky\"");
    std::fs::remove_file(place.dir().join("flows/main.ts")).expect("it is there");
    refused("r", 6, "main");
}

#[test]
fn a_retry_is_the_same_again_as_a_request_of_its_own() {
    let flow = r#"
const parsed = z.object({ n: z.number().transform((n) => n + 1) });
const say = handler({ name: "say", execute: (input) => input });
const bot = generator({ name: "bot", model: "tiny", prompt: "Answer.", user: "Go" });
const asks = handler({ name: "asks", execute: async (_input, ctx) => ctx.suspend({ reason: "approval" }) });
const hold = handler({ name: "hold", execute: () => new Promise((done) => setTimeout(done, 600_000)) });
export default defineFlow({ kind: "main", request: { concurrency: { policy: "queue", key: () => "one" } }, actions: {
  say: { inputSchema: parsed, block: say }, bot: { block: bot }, asks: { block: asks, concurrency: "allow" }, hold: { block: hold },
} });
"#;
    let mock = r#"{ "models": { "tiny": [{ "text": "mocked" }] } }"#;
    let place = Place::with_flow(flow).file("flows/main.mock.json", mock);
    let first = place.get("run main say --user ada --session s --request first --input {\"n\":1}");
    assert_eq!(first["output"], json!({ "n": 2 }));
    let again = place.get("retry first");
    assert_eq!((&again["output"], &again["sessionId"]), (&json!({ "n": 2 }), &json!("s")), "it is not parsed twice");
    let row = place.get("requests --session s")[0].clone();
    assert_eq!((&row["id"], &row["retryOf"]), (&again["requestId"], &json!("first")));
    assert_ne!(row["id"], "first");
    assert_identical(&place, row["id"].as_str().expect("an id"));
    place.get("run main bot --user ada --session s --request bot --mock");
    assert_eq!(place.get("retry bot")["output"], "mocked", "its models are mocked again");
    let real = place.ask("retry bot --real");
    assert_eq!(real.code, Some(3), "{real}");
    assert!(real.stderr.contains("tiny"), "no such model is configured\n{real}");
    assert_eq!(place.ask("run main asks --user ada --request asks").code, Some(4));
    let holding = place.start("run main hold --user ada --request holds");
    place.until_status("holds", "in_progress");
    let waiting = place.start("run main hold --user ada --request waits");
    place.until_status("waits", "queued");
    let before = place.get("requests").as_array().map(Vec::len);
    for request in ["asks", "holds", "waits"] {
        let refused = place.ask(&format!("retry {request}"));
        assert_eq!(refused.code, Some(7), "{refused}");
        assert!(refused.stderr.contains("only one that has ended"), "{refused}");
    }
    assert_eq!(place.ask("retry nobody").code, Some(6));
    assert_eq!(place.get("requests").as_array().map(Vec::len), before);
    waiting.kill();
    holding.kill();
}

#[test]
fn checkpoints_of_what_has_ended_go_where_the_flow_says_so() {
    let flow = |setting: &str| {
        format!(
            r#"
const own = {{ stateSchema: z.object({{ n: z.number().default(0) }}) }};
const counts = (name) => handler({{ name, execute: async (_input, ctx) => {{ await ctx.sequencer.incState({{ n: 1 }}); }} }});
const asks = handler({{ name: "asks", execute: async (_input, ctx) => {{ await ctx.suspend({{ reason: "approval" }}); }} }});
export default defineFlow({{ kind: "main", {setting} actions: {{
  go: {{ block: sequencer({{ name: "outer", ...own }}).step(counts("a")).step(sequencer({{ name: "inner", ...own }}).step(counts("b"))).step(asks) }},
}} }});
"#
        )
    };
    let rows = [
        ("", vec!["root", "root/step:inner"], vec!["root", "root/step:inner"]),
        ("request: { cleanupCheckpointsOnTerminal: true },", vec!["root"], vec![]),
    ];
    for (setting, waiting, ended) in rows {
        let place = Place::with_flow(&flow(setting));
        let paths = || -> Vec<String> {
            let shown = place.get("checkpoints r");
            shown.as_array().expect("a list").iter().filter_map(|one| one["path"].as_str().map(str::to_owned)).collect()
        };
        assert_eq!(place.ask("run main go --user ada --request r").code, Some(4));
        assert_eq!(paths(), waiting, "{setting}");
        assert_eq!(place.get("checkpoints r")[0]["terminal"], false, "what waits has not ended");
        place.get("resume r --approve");
        assert_eq!(paths(), ended, "{setting}");
    }
}

/// The replay waited for ever for the end of a model call that the log does not have.
#[test]
fn a_request_that_was_aborted_in_a_model_call_replays_to_that_place() {
    let flow = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const first = handler({ name: "first", inputSchema: z.any(), outputSchema: z.any(), execute: (i) => i });
const ask = generator({ name: "ask", model: "m", inputSchema: z.any(), outputSchema: z.string(), prompt: "p", user: () => "u" });
export default defineFlow({ kind: "slow", actions: { go: { inputSchema: z.any(), block: sequencer({ name: "all", inputSchema: z.any() }).step(first).step(ask) } } });
"#;
    let place = Place::new().file("flows/slow.ts", flow);
    place.write("flows/slow.mock.json", r#"{ "generators": { "ask": [{ "text": "a b c d", "chunkMs": 60000 }] } }"#);
    for (request, signal) in [("aborted", None), ("killed", Some("KILL"))] {
        let going = place.start(&format!("run slow go --user ada --request {request} --mock"));
        place.until("it asks", |place| {
            let events = place.ask(&format!("events {request} --kind effect_started"));
            (events.code == Some(0) && !events.json().as_array()?.is_empty()).then_some(())
        });
        match signal {
            None => drop((place.ask(&format!("abort {request}")), going.ended())),
            Some(_) => drop(going.kill()),
        }
        assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
    }
    assert_eq!(place.get("verify --all")["same"], 2);
}
