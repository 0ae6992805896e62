//! Experiments that stop and go on: what a sample was answered before is not paid for again, what the budget has no
//! room for leaves no request, and what an experiment runs besides its samples is in no list of a person's runs.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

const HEAD: &str = r#"import { defineFlow, dispatcher, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const price = generator({ name: "price", model: "small", inputSchema: any, outputSchema: z.string(),
  prompt: "Say a price.", user: () => "Price of tea?" });
const check = handler({ name: "check", inputSchema: any, outputSchema: any, execute: (said: any) => ({ eur: Number(said) }) });
const session = { stateSchema: z.object({ n: z.number().default(0) }) };
"#;
const OFFER: &str = r#"export default defineFlow({ kind: "shop", session,
  actions: { offer: { inputSchema: any, block: sequencer({ name: "offer", inputSchema: any }).step(price).step(check) } } });
"#;

fn settings(server: &Server) -> String {
    let model = |name: &str| json!({ "model": name, "baseUrl": format!("{}/v1", server.address()) });
    let price = json!({ "input": 1_000, "output": 1_000 });
    let models = json!({ "small": model("small-1"), "large": model("large-1"), "other": model("other-1") });
    json!({ "models": models, "prices": { "small": price, "large": price, "other": price } }).to_string()
}

/// A workspace with the request `r`, and the server that was asked for it.
fn shop(flow: &str, replies: impl IntoIterator<Item = &'static str>) -> (Place, Server) {
    shop_with(flow, replies.into_iter().map(Reply::text))
}

fn shop_with(flow: &str, replies: impl IntoIterator<Item = Reply>) -> (Place, Server) {
    let server = Server::start(replies);
    let place = Place::new().file("flows/shop.ts", &format!("{HEAD}{flow}"));
    let place = place.file("flowglass.json", &settings(&server));
    let ran = place.ask("run shop offer --user ada --request r --input {}");
    assert_eq!(ran.code, Some(0), "{ran}");
    (place, server)
}

fn tried(place: &Place, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "r", "--at", "root/step:price"].as_slice(), more].concat())
}

fn goes_on(place: &Place, view: &Value, more: &[&str]) -> Value {
    let id = view["id"].as_str().expect("an id");
    let found = place.run(&[["--json", "try", "--go-on", id].as_slice(), more].concat());
    assert_eq!(found.code, Some(0), "{found}");
    found.json()
}

fn arms(view: &Value) -> Vec<&Value> {
    view["arms"].as_array().expect("arms").iter().chain([&view["base"]]).collect()
}

fn rows(place: &Place, line: &str) -> Vec<Value> {
    place.get(line).as_array().cloned().unwrap_or_default()
}

const SAMPLES: &str = "requests --filter is:sample";

/// The answers of the samples that had ended were asked for, and paid for, once more.
#[test]
fn answers_of_the_part_before_a_stop_are_shared() {
    let (place, server) = shop(OFFER, ["90", "70", "60"]);
    let found = tried(&place, &["--set", "session.n=1,2", "--jobs", "1", "--budget", "1"]).json();
    assert_eq!((&found["missing"], server.asked().len()), (&json!(0), 2), "{found}");
    // The sample that shared the answer is gone, so that it runs again, in another process.
    let shared = found["arms"][0]["samples"][0]["requestId"].as_str().unwrap_or_default();
    let session = place.get(&format!("show {shared}"))["request"]["sessionId"].as_str().expect("a session").to_owned();
    place.get(&format!("delete --session {session}"));
    let done = goes_on(&place, &found, &[]);
    assert_eq!((&done["missing"], server.asked().len()), (&json!(0), 2), "{done}");
    for arm in &done["arms"].as_array().expect("arms")[..] {
        let sample = &arm["samples"][0];
        assert_eq!((&sample["output"]["eur"], &sample["usage"]["sharedCalls"]), (&json!(70), &json!(1)), "{done}");
        let request = sample["requestId"].as_str().unwrap_or_default();
        assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
    }
    let costs: Vec<f64> = rows(&place, SAMPLES).iter().filter_map(|row| row["costUsd"].as_f64()).collect();
    assert!(costs.len() == 1 && (costs[0] - 0.018).abs() < 1e-9, "one of them has paid: {costs:?}");
    assert_eq!(place.ask("check --data").code, Some(0));
    // The budget counts that call once, too: one is left for the second sample of all arms.
    let more = goes_on(&place, &done, &["--samples", "2", "--budget", "2"]);
    assert_eq!((&more["missing"], server.asked().len()), (&json!(0), 3), "{more}");
}

/// A sample that goes on has been answered once: what it asks again is another call, as it would have been.
#[test]
fn a_sample_that_goes_on_does_not_share_its_own_answer() {
    let twice = r#"const all = sequencer({ name: "offer", inputSchema: any }).step(price).step(price).step(check);
export default defineFlow({ kind: "shop", session, actions: { offer: { inputSchema: any, block: all } } });
"#;
    let (place, server) = shop(twice, ["1", "2", "3", "4"]);
    let found = tried(&place, &["--budget", "1"]).json();
    assert_eq!((&found["stopped"], server.asked().len()), (&json!("budget"), 3), "{found}");
    assert_eq!(found["base"]["samples"][0]["status"], "aborted", "it has spent something: {found}");
    let done = goes_on(&place, &found, &["--budget", "2"]);
    assert_eq!((&done["missing"], server.asked().len()), (&json!(0), 4), "{done}");
    assert_eq!(done["base"]["samples"][0]["output"], json!({ "eur": 4 }), "{done}");
}

/// All arms begin at once, and only some of them can ask: each other one left an aborted request.
#[test]
fn what_the_budget_has_no_room_for_leaves_no_request() {
    let (place, server) = shop(OFFER, std::iter::repeat_n("70", 8));
    for (flags, spent) in [(["--budget", "3"], 3), (["--budget", "40tokens"], 2), (["--budget", "0.04usd"], 2)] {
        let before = (server.asked().len(), rows(&place, SAMPLES).len());
        let found = tried(&place, &[["--model", "large,other", "--samples", "2"].as_slice(), &flags].concat());
        let view = found.json();
        let missing = 6 - spent;
        assert_eq!((&view["stopped"], &view["missing"]), (&json!("budget"), &json!(missing)), "{found}");
        let samples = rows(&place, SAMPLES);
        assert_eq!((server.asked().len() - before.0, samples.len() - before.1), (spent, spent), "{found}");
        assert!(samples.iter().all(|row| row["status"] == "completed"), "{samples:?}");
        let not_started: usize = arms(&view).iter().map(|arm| arm["notStarted"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!(not_started, missing, "{found}");
        let shown = place.run(&["experiments", view["id"].as_str().unwrap_or_default()]);
        assert!(shown.stdout.contains("not started: the budget is spent"), "{shown}");
        if spent == 3 {
            // With the same budget nothing more is run, and nothing is begun again.
            let same = goes_on(&place, &view, &[]);
            assert_eq!((&same["missing"], rows(&place, SAMPLES).len()), (&json!(3), samples.len()), "{same}");
        }
    }
}

#[test]
fn what_was_not_started_runs_with_a_larger_budget() {
    let (place, server) = shop(OFFER, ["90", "70", "70", "70"]);
    let found = tried(&place, &["--model", "large,other", "--budget", "1"]).json();
    assert_eq!((&found["missing"], server.asked().len()), (&json!(2), 2), "{found}");
    let done = goes_on(&place, &found, &["--budget", "3"]);
    assert_eq!((&done["missing"], &done["stopped"], server.asked().len()), (&json!(0), &Value::Null, 4), "{done}");
    assert!(arms(&done).iter().all(|arm| arm["notStarted"] == json!([])), "{done}");
    assert_eq!(rows(&place, SAMPLES).len(), 3);
}

/// A sample that is given the block's output asks nothing, so a budget that is spent does not hold it back.
#[test]
fn a_sample_that_asks_nothing_needs_no_budget() {
    let (place, server) = shop(OFFER, ["90", "70"]);
    let found = tried(&place, &["--output", "\"1\",\"2\"", "--jobs", "1", "--budget", "1"]);
    assert_eq!((&found.json()["missing"], server.asked().len()), (&json!(0), 2), "{found}");
}

/// Forks of a search that could ask nothing were aborted requests, and counted as forks.
#[test]
fn a_search_begins_no_fork_without_room_in_the_budget() {
    let (place, server) = shop(OFFER, ["90", "70", "70", "70", "70"]);
    let found = place.run(&["--json", "culprit", "r", "--fails", "output.eur > 80", "--budget", "3"]);
    let view = found.json();
    assert_eq!((&view["forks"], server.asked().len()), (&json!(3), 4), "{found}");
    assert!(view["notes"].as_array().is_some_and(|notes| notes.contains(&json!("the budget is spent"))), "{found}");
    let samples = rows(&place, SAMPLES);
    assert_eq!(samples.len(), 3, "{samples:?}");
    assert!(samples.iter().all(|row| row["status"] == "completed"), "{samples:?}");
}

/// What scored a sample, and what a sample sent, was a run like those of a person.
#[test]
fn what_an_experiment_runs_besides_its_samples_is_no_run_of_a_person() {
    let sends = r#"const note = handler({ name: "note", inputSchema: any, outputSchema: any, execute: (i: any) => i });
const tell = dispatcher({ name: "tell", type: "internal", target: "note", session: { key: () => "book" }, payload: () => ({ text: "sold" }) });
const all = sequencer({ name: "offer", inputSchema: any }).step(price).tap(tell).tap(tell).step(check);
export default defineFlow({ kind: "shop", session, actions: { offer: { inputSchema: any, block: all } },
  internal: { actions: { note: { block: note } } } });
"#;
    let (place, _server) = shop(sends, ["90", "70", "70"]);
    place.write(
        "flows/judge.ts",
        r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const rate = handler({ name: "rate", inputSchema: z.any(), outputSchema: z.any(), execute: (run: any) => run.output.eur });
export default defineFlow({ kind: "judge", actions: { rate: { inputSchema: z.any(), block: rate } } });
"#,
    );
    let (requests, sessions) = (rows(&place, "requests").len(), rows(&place, "sessions").len());
    let found = tried(&place, &["--model", "large", "--score-block", "judge.rate"]);
    assert_eq!(found.json()["arms"][0]["samples"][0]["score"], 70, "{found}");
    let listed = place.ask("requests");
    assert_eq!(listed.json().as_array().map(Vec::len), Some(requests), "{listed}");
    // Two samples; each sends two requests, and is scored by one.
    assert!(listed.stderr.contains("8 experiment samples hidden; use --filter is:sample"), "{listed}");
    let samples = rows(&place, SAMPLES);
    let of = |flow: &str, action: &str| {
        samples
            .iter()
            .filter(|row| row["flow"] == flow && row["action"].as_str().is_some_and(|a| a.ends_with(action)))
            .count()
    };
    assert_eq!((of("shop", "offer"), of("shop", "note"), of("judge", "rate")), (2, 4, 2), "{samples:?}");
    assert_eq!(rows(&place, "sessions").len(), sessions);
    assert_eq!(place.get("stats")["samples"], 8);
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// Each list leaves samples out, and says so; what was spent is counted with them.
#[test]
fn every_list_says_what_it_leaves_out() {
    let waits = r#"const look = handler({ name: "look", inputSchema: any, outputSchema: any, execute: (i: any) => ({ saw: i.tea }) });
const ask = handler({ name: "ask", inputSchema: any, outputSchema: any, execute: async (saw: any, ctx: any) => {
  await ctx.suspend({ reason: "approval", message: "Sell it?" });
  return saw;
} });
const all = sequencer({ name: "offer", inputSchema: any }).step(look).step(ask);
export default defineFlow({ kind: "shop", session, actions: { offer: { inputSchema: any, block: all } } });
"#;
    let place = Place::new().file("flows/shop.ts", &format!("{HEAD}{waits}"));
    assert_eq!(place.ask("run shop offer --user ada --request r --input {\"tea\":\"green\"}").code, Some(4));
    let lines = ["sessions", "suspensions", "search green", "requests"];
    for line in lines {
        assert_eq!(place.ask(line).stderr, "", "{line}");
    }
    let found = place.run(&["--json", "try", "r", "--at", "root/step:look", "--set", "session.n=1", "--samples", "2"]);
    assert_eq!(found.code, Some(0), "{found}");
    for (line, hint) in [
        ("sessions", "4 sample sessions hidden; use --samples"),
        ("suspensions", "4 sample questions hidden; use --samples"),
        ("suspensions --status pending", "4 sample questions hidden; use --samples"),
        ("search green", "4 experiment samples not searched; use --samples to search only those"),
        ("requests", "4 experiment samples hidden; use --filter is:sample"),
    ] {
        let listed = place.ask(line);
        assert!(listed.stderr.contains(hint), "{line}: {listed}");
        let requests = listed.json().as_array().cloned().unwrap_or_default();
        let is_of_r = |row: &Value| [&row["requestId"], &row["id"], &row["lastRequest"]].iter().any(|id| **id == "r");
        let are_of_r = line == "sessions" && requests.len() == 1 || requests.iter().all(is_of_r);
        assert!(!requests.is_empty() && are_of_r, "{line}: {listed}");
    }
    for line in ["sessions --samples", "suspensions --samples"] {
        let listed = place.ask(line);
        assert_eq!((listed.json().as_array().map(Vec::len), listed.stderr.as_str()), (Some(4), ""), "{line}: {listed}");
    }
    let hits = rows(&place, "search green --samples");
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["requestId"] != "r"), "{hits:?}");
    assert_eq!(place.get("stats")["samples"], 4);
    assert_eq!(place.ask("search green --samples --session x").code, Some(2));
    let mut agent = Agent::start(place.dir(), &[]);
    let left_out = " 4 experiment samples hidden; pass `samples: true` to list them.";
    for asked in [json!({}), json!({ "text": "green" }), json!({ "what": "errors" })] {
        let found = agent.get("find", asked.clone());
        assert!(found.text.contains(left_out), "{asked}: {}", found.text);
    }
    for asked in [json!({ "samples": true }), json!({ "text": "green", "samples": true })] {
        let found = agent.get("find", asked.clone());
        let rows = found.structured["rows"].as_array().cloned().unwrap_or_default();
        assert!(!rows.is_empty() && rows.iter().all(|row| row["request"] != "r"), "{asked}: {}", found.text);
        assert!(!found.text.contains("hidden"), "{asked}: {}", found.text);
    }
    assert_eq!(place.ask("suspensions --samples --request r").code, Some(2));
    // A session is shown as it is.
    let session = rows(&place, "sessions --samples")[0]["id"].as_str().unwrap_or_default().to_owned();
    for line in ["search green", "suspensions", "requests"] {
        let line = format!("{line} --session {session}");
        let listed = place.ask(&line);
        assert!(listed.stderr.is_empty() && !listed.json().as_array().expect("rows").is_empty(), "{line}: {listed}");
    }
}

/// `generator({ … } as any)` was said to be in no file.
#[test]
fn a_prompt_is_tried_where_the_options_are_cast() {
    let casts = [
        ("({ name", "inputSchema: any } as any)"),
        ("({ name", "inputSchema: any } satisfies object)"),
        ("(<any>{ name", "inputSchema: any })"),
        ("(({ name", "inputSchema: any })!)"),
    ];
    for (from, to) in casts {
        let flow = format!(
            "const cast = generator{from}: \"cast\", model: \"small\", outputSchema: z.string(), prompt: \"Say a price.\",
  user: () => \"?\", {to};
export default defineFlow({{ kind: \"shop\", session,
  actions: {{ offer: {{ inputSchema: any, block: sequencer({{ name: \"offer\", inputSchema: any }}).step(cast).step(check) }} }} }});
"
        );
        let (place, server) = shop(&flow, ["90", "70", "60"]);
        place.write("low.md", "Say a low price.\n");
        let file = place.dir().join("low.md").display().to_string();
        let found = place.run(&["--json", "try", "r", "--at", "root/step:cast", "--prompt", &file]);
        assert_eq!(found.code, Some(0), "{to}: {found}");
        let told = |asked: &tests::server::Asked| asked.json()["messages"].to_string().contains("Say a low price.");
        assert_eq!(server.asked().iter().filter(|asked| told(asked)).count(), 1, "{to}: {found}");
        let view = found.json();
        let adopted = place.run(&["--json", "adopt", view["id"].as_str().unwrap_or_default(), "1", "--write"]);
        assert_eq!(adopted.code, Some(0), "{to}: {adopted}");
        let text = std::fs::read_to_string(place.dir().join("flows/shop.ts")).expect("a flow");
        assert!(text.contains("prompt: \"Say a low price.\"") && text.contains(to), "{text}");
    }
}

/// A file that the flag names was called as if it was given with an `@`.
#[test]
fn a_wrong_schema_is_told_by_the_name_of_its_file() {
    let (place, _server) = shop(OFFER, ["90"]);
    let check = |text: Option<&str>, why: &str| {
        let name = if text.is_some() { "schema.json" } else { "none.json" };
        text.into_iter().for_each(|text| place.write(name, text));
        let file = place.dir().join(name).display().to_string();
        let found = tried(&place, &["--score-schema", &file, "--plan"]);
        let told = format!("--score-schema {file}{why}");
        assert!(found.code == Some(2) && found.stderr.contains(&told), "{told}: {found}");
        assert!(!found.stderr.contains('@'), "{found}");
    };
    check(None, ": ");
    check(Some("{"), " is not JSON: ");
    check(Some(r#"{ "type": 5 }"#), " is not a JSON Schema: ");
}

/// A sample that was stopped after its last call has paid for everything: a budget that is spent does not hold it back.
#[test]
fn a_sample_that_was_stopped_after_its_calls_goes_on() {
    let waits = |ms: &str| {
        let flow = r#"const wait = handler({ name: "wait", inputSchema: any, outputSchema: any, execute: async (said: any) => {
  await new Promise((done) => setTimeout(done, MS));
  return { eur: Number(said) };
} });
const all = sequencer({ name: "offer", inputSchema: any }).step(price).step(wait);
export default defineFlow({ kind: "shop", session, actions: { offer: { inputSchema: any, block: all } } });
"#;
        flow.replace("MS", ms)
    };
    let (place, server) = shop(&waits("1"), ["90", "70"]);
    place.write("flows/shop.ts", format!("{HEAD}{}", waits("60_000")));
    let mut going = place.start("--json try r --at root/step:price --budget 1");
    going.until_it_says("model call");
    place.until("the sample waits", |place| {
        let sample = rows(place, SAMPLES).first()?["id"].as_str()?.to_owned();
        let blocks = place.get(&format!("show {sample}"))["blocks"].as_array().cloned()?;
        blocks.iter().any(|block| block["name"] == "wait" && block["status"] == "running").then_some(())
    });
    going.kill();
    place.write("flows/shop.ts", format!("{HEAD}{}", waits("1")));
    let list = place.get("experiments");
    let done = goes_on(&place, &list[0], &[]);
    assert_eq!((&done["missing"], server.asked().len()), (&json!(0), 2), "{done}");
    assert_eq!(done["base"]["samples"][0]["output"], json!({ "eur": 70 }), "{done}");
}

/// Takes a call, and never answers.
fn silent() -> Reply {
    Reply::body("application/json", "").hang()
}

/// Begins an experiment, and kills its process once the server was asked so often.
fn killed(place: &Place, server: &Server, more: &[&str], asked: usize) -> Value {
    let line = ["--json try r --at root/step:price", &more.join(" ")].join(" ");
    let going = place.start(&line);
    place.until("the calls are sent", |_| (server.asked().len() == asked).then_some(()));
    going.kill();
    place.get("experiments")[0].clone()
}

/// What was on its way when a process was killed was forgotten, and more was asked than the budget allows.
#[test]
fn calls_on_their_way_count_after_a_kill() {
    let replies = [Reply::text("90"), silent(), silent(), Reply::text("11"), Reply::text("12")];
    let (place, server) = shop_with(OFFER, replies);
    let found = killed(&place, &server, &["--model", "large", "--budget", "2"], 3);
    let same = goes_on(&place, &found, &[]);
    assert_eq!(
        (&same["stopped"], &same["missing"], server.asked().len()),
        (&json!("budget"), &json!(2), 3),
        "the two calls that were sent are the budget: {same}"
    );
    let more = goes_on(&place, &found, &["--budget", "3"]);
    assert_eq!((&more["missing"], server.asked().len()), (&json!(1), 4), "{more}");
    let done = goes_on(&place, &found, &["--budget", "4"]);
    assert_eq!((&done["missing"], &done["stopped"], server.asked().len()), (&json!(0), &Value::Null, 5), "{done}");
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// Samples' logs have neither calls of scores nor requests that a provider refused.
#[test]
fn scores_and_refused_requests_count_after_a_kill() {
    let busy = Reply::body("application/json", r#"{"error":{"message":"slow down"}}"#).status(429);
    let busy = busy.header("retry-after-ms", "5");
    let replies = [Reply::text("90"), busy, Reply::text("70"), silent(), Reply::text("0.5")];
    let (place, server) = shop_with(OFFER, replies);
    place.write("judge.md", "Judge it.");
    let file = place.dir().join("judge.md").display().to_string();
    let found = killed(&place, &server, &["--score-model", "small", "--score-prompt", &file, "--budget", "3"], 4);
    let same = goes_on(&place, &found, &[]);
    assert_eq!(
        (&same["stopped"], &same["missing"], &same["unscored"], server.asked().len()),
        (&json!("budget"), &json!(0), &json!(1), 4),
        "refused, answered and the score: {same}"
    );
    let done = goes_on(&place, &found, &["--budget", "4"]);
    assert_eq!((&done["unscored"], &done["stopped"], server.asked().len()), (&json!(0), &Value::Null, 5), "{done}");
    assert_eq!(done["base"]["samples"][0]["score"], 0.5, "{done}");
}

/// Each sample left an aborted request of the block that was to score it.
#[test]
fn a_spent_budget_scores_only_what_asks_nothing() {
    let (place, server) = shop(OFFER, ["90", "70", "71", "72"]);
    place.write(
        "flows/judge.ts",
        r#"import { defineFlow, generator, handler } from "@flow-state-dev/core";
import { z } from "zod";
const asks = generator({ name: "asks", model: "small", inputSchema: z.any(), outputSchema: z.string(), prompt: "Rate.", user: () => "?" });
const rate = handler({ name: "rate", inputSchema: z.any(), outputSchema: z.any(), execute: (run: any) => run.output.eur });
export default defineFlow({ kind: "judge", actions: {
  asks: { inputSchema: z.any(), block: asks }, rate: { inputSchema: z.any(), block: rate } } });
"#,
    );
    place.write("judge.md", "Judge it.");
    let file = place.dir().join("judge.md").display().to_string();
    let found = tried(&place, &["--samples", "3", "--budget", "3"]).json();
    assert_eq!((&found["missing"], server.asked().len()), (&json!(0), 4), "{found}");
    let before = rows(&place, SAMPLES).len();
    let by_model = goes_on(&place, &found, &["--score-model", "small", "--score-prompt", &file]);
    assert_eq!((&by_model["stopped"], &by_model["unscored"]), (&json!("budget"), &json!(3)), "{by_model}");
    let by_block = goes_on(&place, &found, &["--score-block", "judge.asks"]);
    assert_eq!((&by_block["stopped"], &by_block["unscored"]), (&json!("budget"), &json!(3)), "{by_block}");
    assert_eq!((server.asked().len(), rows(&place, SAMPLES).len()), (4, before + 1), "one block was tried");
    let by_handler = goes_on(&place, &found, &["--score-block", "judge.rate"]);
    assert_eq!((&by_handler["stopped"], &by_handler["unscored"]), (&Value::Null, &json!(0)), "{by_handler}");
}

/// Arms beyond the 20th were missing from the list.
#[test]
fn arms_that_are_not_listed_are_counted() {
    let (place, _server) = shop(OFFER, ["90", "70"]);
    let values: Vec<String> = (1..=23).map(|n| n.to_string()).collect();
    let found = tried(
        &place,
        &["--set", &format!("session.n={}", values.join(",")), "--model", "large", "--budget", "1", "--jobs", "1"],
    );
    let shown = place.run(&["experiments", found.json()["id"].as_str().unwrap_or_default()]);
    let lines = shown.stdout.matches("sample 1  not started: the budget is spent").count();
    assert!(lines == 20 && shown.stdout.contains("\nand ") && shown.stdout.contains(" more arms\n"), "{shown}");
}
