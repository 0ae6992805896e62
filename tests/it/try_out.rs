//! Experiments: `try` forks a request from before a block with other values, and tells what comes of it. Models are
//! played by a server on this machine, which counts what it is asked.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

const FLOW: &str = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const read = generator({ name: "read", model: "small", inputSchema: any, outputSchema: z.string(), prompt: "Read.", user: (i) => `${i.text}` });
const mode = handler({ name: "mode", inputSchema: any, outputSchema: any, execute: async (text, ctx) => {
  await ctx.session.patchState({ mode: "free" });
  return text;
} });
const price = generator({ name: "price", model: "small", inputSchema: any, outputSchema: z.string(),
  prompt: (text) => `Price of ${text}.`, user: (text) => text });
const check = handler({ name: "check", inputSchema: any, outputSchema: any, execute: async (said, ctx) => {
  const eur = Number(said);
  if (Number.isNaN(eur)) throw new Error(`"${said}" is no price`);
  return { eur, mode: ctx.session.state.mode };
} });
export default defineFlow({
  kind: "shop",
  session: { stateSchema: z.object({ mode: z.string().default("none") }) },
  actions: { offer: { inputSchema: any, block: sequencer({ name: "offer", inputSchema: any }).step(read).step(mode).step(price).step(check) } },
});
"#;

/// Settings whose models are all played by one server, each with a price.
fn settings(server: &Server) -> String {
    let model = |name: &str| json!({ "model": name, "baseUrl": format!("{}/v1", server.address()) });
    let price = json!({ "input": 1_000, "output": 1_000 });
    let models = json!({ "small": model("small-1"), "large": model("large-1"), "other": model("other-1") });
    json!({ "models": models, "prices": { "small": price, "large": price } }).to_string()
}

/// A workspace with one request, for which the server was asked twice: a tea for 90.
fn shop(replies: impl IntoIterator<Item = Reply>) -> (Place, Server) {
    let first = [Reply::text("tea"), Reply::text("90")];
    let server = Server::start(first.into_iter().chain(replies));
    let place = Place::new().file("flows/shop.ts", FLOW).file("flowglass.json", &settings(&server));
    let ran = place.ask("run shop offer --user ada --request r --input {\"text\":\"a_cup\"}");
    assert_eq!((ran.code, &ran.json()["output"]["eur"]), (Some(0), &json!(90)), "{ran}");
    (place, server)
}

const AT: &str = "root/step:price";

fn tried(place: &Place, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "r", "--at", AT].as_slice(), more].concat())
}

fn replies(count: usize, text: &str) -> impl Iterator<Item = Reply> {
    std::iter::repeat_n(Reply::text(text), count)
}

/// The models that the server was asked since the request, sorted.
fn asked(server: &Server) -> Vec<String> {
    let mut models: Vec<String> =
        server.asked()[2..].iter().map(|asked| asked.json()["model"].as_str().unwrap_or_default().to_owned()).collect();
    models.sort();
    models
}

#[test]
fn other_models_are_asked_from_the_block_on_and_nothing_before_it_again() {
    let (place, server) = shop(replies(6, "120"));
    let found = tried(&place, &["--model", "large,other", "--samples", "2", "--score", "output.eur <= 100"]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    assert_eq!(asked(&server), ["large-1", "large-1", "other-1", "other-1", "small-1", "small-1"]);
    let arms = found["arms"].as_array().expect("arms");
    assert_eq!(arms.iter().map(|arm| &arm["axes"]["model"]).collect::<Vec<_>>(), ["large", "other"]);
    for arm in arms.iter().chain([&found["base"]]) {
        let summary = &arm["summary"];
        assert_eq!((&summary["n"], &summary["passed"], &summary["rate"]), (&json!(2), &json!(0), &json!(0.0)), "{arm}");
        assert!(summary["high"].as_f64().is_some_and(|high| (0.65..0.66).contains(&high)), "{arm}");
        for sample in arm["samples"].as_array().expect("samples") {
            assert_eq!(sample["status"], "completed");
            assert_eq!(sample["output"], json!({ "eur": 120, "mode": "free" }));
            assert_eq!(sample["usage"]["modelCalls"], 1);
            assert_eq!(sample["usage"]["totalTokens"], 18);
            assert_eq!(sample["differs"], json!({ "output": true, "state": false }));
            // A sample is a request like any other, and is the same when it is replayed.
            let request = sample["requestId"].as_str().unwrap_or_default();
            assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
            let shown = place.get(&format!("show {request}"));
            assert_eq!(shown["request"]["forkedFrom"]["requestId"], "r");
        }
    }
    // The base arm differs from the request, too.
    assert!(found["notes"][0].as_str().is_some_and(|note| note.contains("the flow differs by itself")), "{found}");
    assert_eq!(arms[0]["summary"]["besideBase"], "not_enough_samples");
    // What "large" costs is known, what "other" costs is not.
    assert_eq!(arms[0]["samples"][0]["costUsd"], json!(0.018));
    assert_eq!(arms[1]["samples"][0].get("costUsd"), None);
}

#[test]
fn a_plan_says_what_it_takes_and_runs_nothing() {
    let (place, server) = shop([]);
    let before = place.get("stats");
    let plan = tried(&place, &["--model", "large,small", "--samples", "3", "--plan"]).json();
    assert_eq!((&plan["arms"], &plan["samples"]), (&json!(2), &json!(3)));
    // Two arms and the base arm, three samples each, one call each.
    assert_eq!((&plan["modelCalls"], &plan["baseModelCalls"], &plan["tokens"]), (&json!(9), &json!(3), &json!(162.0)));
    assert_eq!(plan["models"], json!(["small", "large"]));
    assert_eq!((server.asked().len(), place.get("stats")), (2, before));
}

#[test]
fn a_budget_ends_it_and_going_on_finishes_it() {
    let (place, server) = shop(replies(6, "80"));
    let found = tried(&place, &["--model", "large,other", "--samples", "2", "--budget", "3", "--jobs", "1"]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    assert_eq!((&found["stopped"], &found["missing"], server.asked().len()), (&json!("budget"), &json!(3), 5));
    let id = found["id"].as_str().unwrap_or_default();
    // The budget counts what was spent before.
    let again = place.run(&["--json", "try", "--go-on", id]).json();
    assert_eq!((&again["stopped"], server.asked().len()), (&json!("budget"), 5));
    let done = place.run(&["--json", "try", "--go-on", id, "--budget", "6"]).json();
    assert_eq!((done.get("stopped"), &done["missing"], server.asked().len()), (None, &json!(0), 8), "{done}");
    assert_eq!(done["arms"][1]["summary"]["n"], 2);
    // Scoring again runs nothing.
    let scored = place.run(&["--json", "try", "--go-on", id, "--score", "output.eur"]).json();
    assert_eq!((&scored["arms"][0]["summary"]["mean"], server.asked().len()), (&json!(80.0), 8));
}

#[test]
fn samples_with_one_number_share_identical_calls() {
    // The arms differ in the state only, which no model is told.
    let (place, server) = shop(replies(2, "70"));
    let found = tried(&place, &["--set", "session.mode=\"a\",\"b\"", "--samples", "2"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(server.asked().len(), 4, "one call for each number");
    let modes = |arm: usize| found.json()["arms"][arm]["samples"][1]["output"].clone();
    assert_eq!((modes(0), modes(1)), (json!({ "eur": 70, "mode": "a" }), json!({ "eur": 70, "mode": "b" })));
    // A page of a sample says what it spent itself, and what it shares.
    let options = runner::OpenOptions { dir: place.dir().to_owned(), ..Default::default() };
    let workspace = runner::Workspace::open(options).expect("the workspace opens");
    let of_sample = |sample: &Value| {
        let head = workspace.open_view(sample["requestId"].as_str().expect("an id")).expect("it opens");
        let shared = head.shared.unwrap_or_default();
        assert_eq!(head.sums.prompt_tokens > 0, head.sums.model_calls > 0, "{:?}", head.sums);
        (head.sums.model_calls, shared.model_calls)
    };
    let shown = found.json();
    let arms = [&shown["base"]].into_iter().chain(shown["arms"].as_array().expect("arms"));
    let spent: Vec<(u64, u64)> =
        arms.flat_map(|arm| arm["samples"].as_array().expect("samples")).map(of_sample).collect();
    assert!(spent.iter().all(|(own, shared)| own + shared == 1), "{spent:?}");
    assert_eq!(spent.iter().map(|(own, _)| own).sum::<u64>(), 2, "{spent:?}");
}

#[test]
fn another_prompt_is_the_text_in_the_source_and_can_be_adopted() {
    let (place, server) = shop(replies(2, "60"));
    place.write("short.md", "Say what ${text} costs, `only` the number.\n");
    let found = place.run(&["--json", "try", "r", "--at", AT, "--prompt", &shown(&place, "short.md")]);
    assert_eq!(found.code, Some(0), "{found}");
    let prompts: Vec<Value> =
        server.asked()[2..].iter().map(|asked| asked.json()["messages"][0]["content"].clone()).collect();
    assert!(prompts.contains(&json!("Say what tea costs, `only` the number.")), "{prompts:?}");
    assert!(prompts.contains(&json!("Price of tea.")), "{prompts:?}");
    let id = found.json()["id"].as_str().unwrap_or_default().to_owned();
    let shown = place.run(&["--json", "adopt", &id, "1"]).json();
    assert!(!std::fs::read_to_string(place.dir().join("flows/shop.ts")).expect("a flow").contains("only"));
    assert_eq!((&shown["file"], &shown["isWritten"]), (&json!("flows/shop.ts"), &json!(false)));
    let written = place.run(&["--json", "adopt", &id, "1", "--write"]).json();
    assert_eq!(written["isWritten"], true, "{written}");
    let text = std::fs::read_to_string(place.dir().join("flows/shop.ts")).expect("a flow");
    assert!(text.contains("prompt: (text) => `Say what ${text} costs, \\`only\\` the number.`"), "{text}");
    assert_eq!(place.ask("check").code, Some(0));
}

/// A value in state is tried, and is nothing that the source has: the edit says that it is left out.
#[test]
fn adopting_names_what_it_writes_and_what_it_cannot() {
    let (place, _server) = shop(replies(4, "60"));
    let id = tried(&place, &["--parameter", "temperature=0", "--set", "session.mode=\"b\""]).json()["id"].clone();
    let id = id.as_str().expect("an id");
    let shown = place.run(&["--json", "adopt", id, "1"]);
    let adopted = shown.json();
    assert_eq!(adopted["values"], json!(["temperature"]), "{shown}");
    assert_eq!(
        adopted["leftOut"],
        json!([{ "name": "session.mode", "why": "a value in state is not in the source" }]),
        "{shown}"
    );
    let text = place.run(&["adopt", id, "1"]);
    assert!(text.stdout.contains("not in the edit: session.mode (a value in state is not in the source)"), "{text}");
}

fn shown(place: &Place, file: &str) -> String {
    place.dir().join(file).display().to_string()
}

#[test]
fn parameters_and_outputs_are_tried() {
    let (place, server) = shop(replies(3, "50"));
    let found = tried(&place, &["--parameter", "temperature=0,1", "--jobs", "1"]);
    assert_eq!(found.code, Some(0), "{found}");
    let temperatures: Vec<Value> =
        server.asked()[2..].iter().map(|asked| asked.json()["temperature"].clone()).collect();
    assert_eq!(temperatures, [json!(null), json!(0.0), json!(1.0)]);
    let found = tried(&place, &["--output", "\"10\",\"free\""]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    assert_eq!(found["arms"][0]["samples"][0]["output"]["eur"], 10);
    // An end by an error is a sample, not the end.
    assert_eq!(found["arms"][1]["samples"][0]["error"]["message"], "\"free\" is no price");
    assert_eq!(found["arms"][1]["summary"]["failed"], 1);
}

#[test]
fn the_code_of_a_revision_is_tried_without_touching_the_working_copy() {
    let (place, _server) = shop(replies(2, "40"));
    let git = |words: &[&str]| {
        let done = Command::new("git").current_dir(place.dir()).args(words).output().expect("git is there");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["config", "user.name", "Ada"]);
    place.write("flows/shop.ts", FLOW.replace("{ eur, mode", "{ eur: eur + 0.5, mode"));
    git(&["add", "flows"]);
    git(&["commit", "-q", "-m", "half"]);
    git(&["tag", "half"]);
    place.write("flows/shop.ts", FLOW);
    let found = tried(&place, &["--code", "half"]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    assert_eq!(found["arms"][0]["samples"][0]["output"]["eur"], 40.5, "{found}");
    assert_eq!(found["base"]["samples"][0]["output"]["eur"], 40);
    assert_eq!(std::fs::read_to_string(place.dir().join("flows/shop.ts")).expect("a flow"), FLOW);
    let missing = tried(&place, &["--code", "nowhere"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("no such revision"), "{missing}");
}

#[test]
fn a_score_that_is_none_is_told_and_ends_nothing() {
    let (place, _server) = shop(replies(4, "30"));
    let check = |score: &str, part: &str| {
        let found = tried(&place, &["--output", "\"1\"", "--score", score]);
        let found = (found.code, found.json());
        let error = found.1["arms"][0]["samples"][0]["scoreError"].as_str().unwrap_or_default();
        assert!(found.0 == Some(0) && error.contains(part), "{score}: {found:?}");
    };
    check("output.nothing.more", "TypeError");
    check("`${output.eur}`", "not \"1\"");
    check("output.nothing", "undefined");
    let block = r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const rate = handler({ name: "rate", inputSchema: z.any(), outputSchema: z.any(), execute: (run) => run.output.eur * 2 });
export default defineFlow({ kind: "judge", actions: { rate: { inputSchema: z.any(), block: rate } } });
"#;
    place.write("flows/judge.ts", block);
    let schema = shown(&place, "cheap.json");
    place.write("cheap.json", r#"{ "properties": { "eur": { "maximum": 5 } } }"#);
    let command = "grep -q '\"eur\":1'";
    for (flags, expected) in [
        (vec!["--score-block", "judge.rate"], json!([2, 18])),
        (vec!["--score-command", command], json!([true, false])),
        (vec!["--score-schema", &schema], json!([true, false])),
    ] {
        let found = tried(&place, &[["--output", "\"1\",\"9\""].as_slice(), &flags].concat());
        let arms = found.json()["arms"].as_array().cloned().unwrap_or_default();
        let scores: Value = arms.iter().map(|arm| arm["samples"][0]["score"].clone()).collect();
        assert_eq!(scores, expected, "{flags:?}: {found}");
    }
    // What the action asks was never recorded, so no figure of the plan can have it.
    let planned = tried(&place, &["--output", "\"1\",\"9\"", "--score-block", "judge.rate", "--plan"]);
    assert_eq!(planned.json()["scoredBy"], "judge.rate", "{planned}");
}

#[test]
fn a_model_that_refuses_for_a_while_is_asked_again_by_all() {
    let busy = Reply::body("application/json", r#"{"error":{"message":"slow down"}}"#)
        .status(429)
        .header("retry-after-ms", "30");
    let (place, server) = shop([busy].into_iter().chain(replies(2, "20")));
    let found = tried(&place, &["--samples", "2"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!((server.asked().len(), &found.json()["arms"][0]["summary"]["n"]), (5, &json!(2)));
    // Without an axis there is one arm, which is the base arm.
    assert_eq!(found.json()["arms"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_provider_that_fails_is_a_failed_sample() {
    let failed = || Reply::body("application/json", r#"{"error":{"message":"broken"}}"#).status(400);
    let (place, _server) = shop([failed(), failed()]);
    let found = tried(&place, &["--model", "other", "--jobs", "1"]).json();
    assert_eq!(found["arms"][0]["samples"][0]["status"], "failed", "{found}");
    assert_eq!(found["base"]["samples"][0]["status"], "failed");
}

#[test]
fn what_cannot_be_tried_is_refused_and_nothing_is_written() {
    let (place, server) = shop([]);
    let check = |args: &[&str], code: i32, part: &str| {
        let refused = place.run(&[["try", "r"].as_slice(), args].concat());
        assert!(refused.code == Some(code) && refused.stderr.contains(part), "{args:?}: {refused}");
    };
    check(&["--at", "root/step:nothing"], 6, "no block began at path");
    check(&["--at", "root/step:price#4"], 6, "no execution 4");
    check(&["--at", "root/step:check", "--model", "large"], 2, "no model is asked there");
    check(&["--at", "root", "--model", "large"], 2, "several generators ran inside it");
    check(&["--at", AT, "--prompt", "gone.md"], 2, "gone.md");
    check(&["--at", AT, "--budget", "0"], 2, "a whole number from 1 to");
    check(&["--at", AT, "--budget", "lots"], 2, "model calls, like 50");
    check(&["--at", AT, "--model", "other", "--budget", "1usd"], 2, "nobody knows what model \"other\" costs");
    check(&["--at", AT, "--score", "output.eur <="], 2, "column");
    check(&["--at", AT, "--score", "output.eur = 1"], 2, "cannot change anything");
    check(&["--at", AT, "--score-block", "nowhere.rate"], 6, "nowhere");
    check(&["--at", AT, "--set", "nowhere.x=1"], 2, "--set nowhere.x");
    check(&["--at", AT, "--set", "project.x=1"], 2, "has no project");
    check(&["--at", AT, "--set", "session.mode={"], 2, "not JSON");
    check(&["--at", AT, "--samples", "0"], 2, "samples");
    check(&["--at", AT, "--score", "1", "--score-command", "true"], 2, "cannot be used with");
    let many = (0..1_001).map(|n| format!("m{n}")).collect::<Vec<_>>().join(",");
    check(&["--at", AT, "--model", &many, "--samples", "10"], 2, "at most 10000");
    assert_eq!(place.ask("try nobody --at root").code, Some(6));
    assert_eq!(place.ask("try --go-on exp_nothing").code, Some(6));
    // It keeps the models that it was begun with.
    for flag in ["--mock", "--real"] {
        let refused = place.ask(&format!("try --go-on exp_nothing {flag}"));
        assert!(refused.code == Some(2) && format!("{refused}").contains("cannot be used with"), "{refused}");
    }
    assert_eq!(server.asked().len(), 2);
}

/// What was on its way when the block began was asked again, and paid twice.
#[test]
fn a_call_that_was_on_its_way_is_answered_from_the_log() {
    let flow = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const ask = (name: string) => generator({ name, model: "small", inputSchema: any, outputSchema: z.string(), prompt: name, user: () => "?" });
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const wait = handler({ name: "wait", inputSchema: any, outputSchema: any, execute: async (i) => { await pause(60); return i; } });
const beside = handler({ name: "beside", inputSchema: any, outputSchema: any, execute: async (i, ctx) => {
  const paid = await ctx.runOnce("pay", () => Math.random());
  await pause(200);
  return paid;
} });
const later = sequencer({ name: "later", inputSchema: any }).step(wait).step(ask("second"));
const both = sequencer({ name: "both", inputSchema: any }).parallel({ a: ask("first"), b: later, c: beside });
export default defineFlow({ kind: "both", actions: { go: { inputSchema: any, block: both } } });
"#;
    let server = Server::start([Reply::text("one"), Reply::text("two")].into_iter().chain(replies(4, "three")));
    let place = Place::new().file("flows/both.ts", flow).file("flowglass.json", &settings(&server));
    let ran = place.ask("run both go --user ada --request r");
    assert_eq!(ran.code, Some(0), "{ran}");
    let blocks = place.get("show r")["blocks"].as_array().cloned().unwrap_or_default();
    let second = blocks.iter().find(|block| block["name"] == "second").expect("it ran");
    let path = second["path"].as_str().unwrap_or_default();
    let found = place.run(&["--json", "try", "r", "--at", path, "--model", "large"]);
    assert_eq!(found.code, Some(0), "{found}");
    let prompts: Vec<Value> =
        server.asked()[2..].iter().map(|asked| asked.json()["messages"][0]["content"].clone()).collect();
    assert_eq!(prompts, ["second", "second"], "{found}");
    // What a block beside it had done is not done again.
    let paid = |output: &Value| output["c"].clone();
    let original = paid(&place.get("show r")["output"]);
    let found = found.json();
    for arm in [&found["base"], &found["arms"][0]] {
        assert_eq!(paid(&arm["samples"][0]["output"]), original, "{arm}");
    }
}

/// The base arm of a sample that is tried itself asked the model of its source.
#[test]
fn a_sample_that_is_tried_keeps_what_was_tried_in_it() {
    let (place, server) = shop(replies(5, "35"));
    let found = tried(&place, &["--model", "large"]).json();
    let sample = found["arms"][0]["samples"][0]["requestId"].as_str().unwrap_or_default().to_owned();
    let again = place.run(&["--json", "try", &sample, "--at", AT, "--set", "session.mode=\"b\""]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(asked(&server), ["large-1", "large-1", "small-1"], "the second two samples share one call");
    assert_eq!(again.json()["notes"], json!([]));
}

#[test]
fn a_sample_asks_anew_for_an_approval() {
    let flow = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const amount = handler({ name: "amount", inputSchema: any, outputSchema: any, execute: () => 5 });
const pay = handler({ name: "pay", inputSchema: any, outputSchema: any, execute: async (amount, ctx) => {
  await ctx.suspend({ reason: "approval", message: `Pay ${amount}?` });
  return { paid: amount };
} });
export default defineFlow({ kind: "pay", actions: { go: { inputSchema: any, block: sequencer({ name: "all", inputSchema: any }).step(amount).step(pay) } } });
"#;
    let place = Place::new().file("flows/pay.ts", flow);
    assert_eq!(place.ask("run pay go --user ada --request r").code, Some(4));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    let plan = place.run(&["--json", "try", "r", "--at", "root/step:amount", "--output", "900", "--plan"]).json();
    assert_eq!(plan["asksAgain"], json!(["root/step:pay"]));
    let found = place.run(&["--json", "try", "r", "--at", "root/step:amount", "--output", "900"]).json();
    assert_eq!(found["arms"][0]["samples"][0]["status"], "suspended", "{found}");
}

#[test]
fn many_arms_are_one_table() {
    let (place, _server) = shop([]);
    let outputs = (0..60).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
    // The base arm has no answer left, and fails.
    let found = place.run(&["try", "r", "--at", AT, "--output", &outputs, "--score", "output.eur"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(found.stdout.lines().filter(|line| line.contains("completed")).count(), 60, "{found}");
    let list = place.get("experiments");
    assert_eq!((&list[0]["arms"], &list[0]["samples"], &list[0]["at"]), (&json!(60), &json!(61), &json!(AT)));
}

fn silent() -> Reply {
    Reply::body("application/json", "").hang()
}

#[test]
fn what_was_running_when_the_process_was_ended_goes_on() {
    let (place, server) =
        // Nothing comes before the process is ended: a whole answer might be recorded first.
        shop([silent(), silent()].into_iter().chain(replies(2, "11")));
    let mut going = place.start("--json try r --at root/step:price --model large");
    going.until_it_says("model call");
    place.until("both samples ask", |_| (server.asked().len() == 4).then_some(()));
    going.kill();
    let list = place.get("experiments");
    let id = list[0]["id"].as_str().unwrap_or_default();
    let done = place.run(&["--json", "try", "--go-on", id]);
    assert_eq!(done.code, Some(0), "{done}");
    let done = done.json();
    assert_eq!((&done["missing"], &done["arms"][0]["samples"][0]["output"]["eur"]), (&json!(0), &json!(11)), "{done}");
    // The same forks, which were resumed.
    assert_eq!(place.get("experiments")[0]["samples"], 2);
    assert_eq!(place.get("requests --filter is:sample").as_array().map(Vec::len), Some(2));
}

/// A flow of handlers, of which one makes a choice by chance and the last one fails if it was the wrong one.
fn planted(steps: usize, at: usize, likely: f64) -> String {
    let mut text = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const calm = (name: string) => handler({ name, inputSchema: any, outputSchema: any, execute: (i) => (Math.random(), i) });
"#
    .to_owned();
    text.push_str(&format!(
        "const choose = handler({{ name: \"choose\", inputSchema: any, outputSchema: any, execute: () => ({{ wrong: Math.random() < {likely} }}) }});\n\
         const last = handler({{ name: \"last\", inputSchema: any, outputSchema: any, execute: (i) => {{ if (i.wrong) throw new Error(\"wrong\"); return i; }} }});\n"
    ));
    let mut chain = "sequencer({ name: \"all\", inputSchema: any })".to_owned();
    for step in 0..steps {
        let block = if step == at { "choose".to_owned() } else { format!("calm(\"calm{step}\")") };
        chain.push_str(&format!(".step({block})"));
    }
    text.push_str(&format!(
        "export default defineFlow({{ kind: \"planted\", actions: {{ go: {{ inputSchema: any, block: {chain}.step(last) }} }} }});\n"
    ));
    text
}

#[test]
fn the_step_that_decided_is_found() {
    let place = Place::new().file("flows/planted.ts", &planted(12, 7, 0.15));
    let mut failed = None;
    for number in 0..90 {
        let request = format!("r{number}");
        let ran = place.ask(&format!("run planted go --user ada --request {request} --input {{\"n\":1}}"));
        if ran.code == Some(3) {
            failed = Some(request);
            break;
        }
    }
    let request = failed.expect("one of 90 fails");
    let found = place.run(&["--json", "culprit", &request, "--fails", "status == \"failed\""]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    assert_eq!(
        (&found["verdict"], &found["culprit"]["path"]),
        (&json!("found"), &json!("root/step:choose")),
        "{found}"
    );
    assert!(found["forks"].as_u64().is_some_and(|forks| forks <= 200), "{found}");
    let curve = found["curve"].as_array().expect("a curve");
    for point in curve {
        let (rate, low, high) = (point["rate"].as_f64(), point["low"].as_f64(), point["high"].as_f64());
        assert!(low <= rate && rate <= high && point["samples"].as_u64() > Some(0), "{point}");
    }
    let check = |expression: &str, code: i32, part: &str| {
        let refused = place.run(&["culprit", &request, "--fails", expression]);
        assert!(refused.code == Some(code) && refused.stderr.contains(part), "{expression}: {refused}");
    };
    check("status == \"completed\"", 2, "is false of request");
    check("status", 2, "true or false");
    check("output.n.m", 2, "TypeError");
    check("status ==", 2, "column");
}

/// The step that began before another branch and ended after that one had begun is the one that decides.
#[test]
fn a_step_beside_others_is_found() {
    let flow = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const choose = handler({ name: "choose", inputSchema: any, outputSchema: any, execute: async () => { const wrong = Math.random() < 0.15; await pause(5); return wrong; } });
const calm = handler({ name: "calm", inputSchema: any, outputSchema: any, execute: async (i) => { await pause(1); return i; } });
const last = handler({ name: "last", inputSchema: any, outputSchema: any, execute: (i) => { if (i.a) throw new Error("wrong"); return i; } });
const all = sequencer({ name: "all", inputSchema: any }).step(calm).parallel({ a: choose, b: sequencer({ name: "b", inputSchema: any }).step(calm).step(calm) }).step(last);
export default defineFlow({ kind: "beside", actions: { go: { inputSchema: any, block: all } } });
"#;
    let place = Place::new().file("flows/beside.ts", flow);
    let fails = |request: &String| {
        place.ask(&format!("run beside go --user ada --request {request} --input {{\"n\":1}}")).code == Some(3)
    };
    let request = (0..90).map(|number| format!("r{number}")).find(fails).expect("one of 90 fails");
    let found = place.run(&["--json", "culprit", &request, "--fails", "status == \"failed\""]).json();
    assert_eq!(found["culprit"]["path"], "root/parallel/a", "{found}");
}

#[test]
fn what_always_fails_was_decided_before_the_first_step() {
    let place = planted(3, 1, 2.0).replace("(Math.random(), i)", "i").replace("Math.random()", "0.5");
    let place = Place::new().file("flows/planted.ts", &place);
    assert_eq!(place.ask("run planted go --user ada --request r --input {\"n\":1}").code, Some(3));
    let found = place.run(&["--json", "culprit", "r", "--fails", "status == \"failed\""]).json();
    assert_eq!((&found["verdict"], &found["forks"]), (&json!("before_the_first_step"), &json!(1)), "{found}");
    assert!(found["notes"][0].as_str().is_some_and(|note| note.contains("one fork a step is enough")));
}
