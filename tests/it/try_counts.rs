//! Experiments count what was: a sample that failed does not pass, an answer that samples share is paid for once, what
//! comes before the block is not run, and what cannot be run is told before anything is paid for.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

const FLOW: &str = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const price = generator({ name: "price", model: "small", inputSchema: any, outputSchema: z.string(),
  prompt: "Say a price.", user: (input) => `Price of ${input.name}?`, context: "The shop sells tea." });
const check = handler({ name: "check", inputSchema: any, outputSchema: any, execute: (said) => {
  if (Number.isNaN(Number(said))) throw new Error(`"${said}" is no price`);
  return { eur: Number(said) };
} });
export default defineFlow({
  kind: "shop",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: { offer: { inputSchema: any, block: sequencer({ name: "offer", inputSchema: any }).step(price).step(check) } },
});
"#;

fn settings(server: &Server) -> String {
    let model = |name: &str| json!({ "model": name, "baseUrl": format!("{}/v1", server.address()) });
    let price = json!({ "input": 1_000, "output": 1_000 });
    let models = json!({ "small": model("small-1"), "large": model("large-1") });
    json!({ "models": models, "prices": { "small": price, "large": price }, "fetch": { "allow": [server.host()] } })
        .to_string()
}

/// A workspace with one request, for which the server was asked once.
fn shop(replies: impl IntoIterator<Item = Reply>) -> (Place, Server) {
    let server = Server::start([Reply::text("90")].into_iter().chain(replies));
    let place = Place::new().file("flows/shop.ts", FLOW).file("flowglass.json", &settings(&server));
    let ran = place.ask("run shop offer --user ada --request r --input {\"name\":\"tea\"}");
    assert_eq!(ran.code, Some(0), "{ran}");
    (place, server)
}

fn tried(place: &Place, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "r", "--at", "root/step:price"].as_slice(), more].concat())
}

fn file(place: &Place, name: &str, text: &str) -> String {
    place.write(name, text);
    place.dir().join(name).display().to_string()
}

/// What the server was told since the request: the texts of each call.
fn told(server: &Server) -> Vec<Vec<String>> {
    let texts = |asked: Value| {
        let messages = asked["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    server.asked()[1..].iter().map(|asked| texts(asked.json())).collect()
}

/// Six that passed and four that failed read "6/6 100 %".
#[test]
fn a_sample_that_failed_counts_in_the_rate() {
    let replies = (0..10).map(|nth| Reply::text(if nth % 5 < 3 { "80" } else { "free" }));
    let (place, _server) = shop(replies);
    let found = tried(&place, &["--samples", "10", "--jobs", "1", "--score", "output.eur <= 100"]).json();
    let summary = &found["arms"][0]["summary"];
    assert_eq!((&summary["n"], &summary["failed"], &summary["passed"]), (&json!(10), &json!(4), &json!(6)), "{found}");
    assert_eq!((&summary["rate"], &summary["unscored"]), (&json!(0.6), &json!(0)), "{found}");
    let id = found["id"].as_str().unwrap_or_default();
    let shown = place.run(&["experiments", id]);
    assert!(shown.stdout.contains("6/10 60 %"), "{shown}");
    // A number says how many samples it is not of.
    place.run(&["try", "--go-on", id, "--score", "output.eur"]);
    let shown = place.run(&["experiments", id]);
    assert!(shown.stdout.contains("; 6 of 10, 4 without score"), "{shown}");
}

#[test]
fn a_shared_answer_is_paid_for_once() {
    let (place, server) = shop((0..2).map(|_| Reply::text("70")));
    let found = tried(&place, &["--set", "session.n=1,2", "--samples", "2"]).json();
    assert_eq!(server.asked().len(), 3, "one call for each number");
    let arms: Vec<&Value> = found["arms"].as_array().expect("arms").iter().chain([&found["base"]]).collect();
    let samples = || arms.iter().flat_map(|arm| arm["samples"].as_array().expect("samples"));
    assert_eq!(samples().filter(|sample| sample["usage"]["sharedCalls"] == 1).count(), 4, "{found}");
    assert_eq!(samples().filter(|sample| sample["sharedUsd"] == json!(0.018)).count(), 4, "{found}");
    assert!(samples().all(|sample| sample["usage"]["totalTokens"] == 18), "{found}");
    let paid: f64 = arms.iter().filter_map(|arm| arm["summary"]["costUsd"].as_f64()).sum();
    assert!((paid - 0.036).abs() < 1e-9, "{paid}");
    let plan = place.run(&["try", "r", "--at", "root/step:price", "--set", "session.n=1,2", "--plan"]);
    assert!(plan.stdout.contains("at most 3 model calls") && plan.stdout.contains("share the answer"), "{plan}");
}

/// The forks of an experiment filled every list. What they cost counts once, also in lists.
#[test]
fn samples_are_left_out_of_lists() {
    let (place, server) = shop((0..2).map(|_| Reply::text("70")));
    let found = tried(&place, &["--set", "session.n=1,2", "--samples", "2"]).json();
    assert_eq!(server.asked().len(), 3, "one call for each number");
    let ids = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().expect("rows").iter();
        rows.filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
    };
    let listed = place.ask("requests");
    assert_eq!(ids(&listed.json()), ["r"], "{listed}");
    assert!(listed.stderr.contains("6 experiment samples hidden; use --filter is:sample"), "{listed}");
    assert_eq!(ids(&place.get("requests --filter is:fork")), [""; 0]);
    let samples = place.get("requests --filter is:sample");
    assert_eq!(samples.as_array().map(Vec::len), Some(6));
    let rows = || samples.as_array().expect("rows").iter();
    let spent = rows().filter_map(|row| row["tokens"].as_u64()).filter(|tokens| *tokens > 0);
    assert_eq!(spent.collect::<Vec<_>>(), [18, 18], "{samples}");
    let paid: Vec<f64> = rows().filter_map(|row| row["costUsd"].as_f64()).collect();
    assert_eq!(paid.len(), 2, "each number was asked once: {samples}");
    assert!((paid.iter().sum::<f64>() - 0.036).abs() < 1e-9, "{samples}");
    let costs: Vec<&Value> = rows().map(|row| &row["totals"]["cost"]).collect();
    assert_eq!(costs.iter().filter(|cost| **cost == &json!(0.0)).count(), 4, "{samples}");

    let sample = &found["arms"][0]["samples"][0]["requestId"];
    let session = rows().find(|row| &row["id"] == sample).and_then(|row| row["sessionId"].as_str()).expect("a session");
    assert_eq!(json!(ids(&place.get(&format!("requests --session {session}")))), json!([sample]));
    assert_eq!(place.get("sessions").as_array().map(Vec::len), Some(1));
    assert_eq!(place.get("sessions --samples").as_array().map(Vec::len), Some(6));
    let wrong = place.run(&["requests", "--filter", "is:samples"]);
    assert!(wrong.stderr.contains("there are fork, retry, mock, trace and sample"), "{wrong}");
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// A search for a culprit is no experiment, and its forks filled the lists as well.
#[test]
fn forks_of_a_search_are_left_out_of_lists() {
    let (place, _server) = shop((0..40).map(|_| Reply::text("70")));
    let found = place.ask("culprit r --fails output.eur>80 --samples 3 --budget 20");
    let forks = found.json()["forks"].as_u64().unwrap_or_default();
    assert!(forks > 0, "{found}");
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1));
    assert_eq!(place.get("requests --filter is:sample").as_array().map(|rows| rows.len() as u64), Some(forks));
    assert_eq!(place.get("experiments"), json!([]));
    let verified = place.get("verify --all");
    assert_eq!(verified["results"].as_array().map(Vec::len), Some(1), "{verified}");
}

/// An experiment that stops says which samples are missing, and not only how many.
#[test]
fn an_experiment_that_stops_names_the_missing_samples() {
    let (place, server) = shop((0..3).map(|_| Reply::text("70")));
    let found = tried(&place, &["--model", "large", "--samples", "3", "--jobs", "1", "--budget", "3"]).json();
    assert_eq!((&found["stopped"], &found["missing"]), (&json!("budget"), &json!(3)), "{found}");
    assert_eq!((&found["base"]["missing"], &found["arms"][0]["missing"]), (&json!([3]), &json!([2, 3])), "{found}");
    let shown = place.run(&["experiments", found["id"].as_str().unwrap_or_default()]);
    let why = "not started: the budget is spent";
    let lines = format!("base  sample 3  {why}\n   1  samples 2-3  {why}\n");
    assert!(shown.stdout.contains(&lines), "{shown}");
    assert_eq!(server.asked().len(), 4);
}

/// What may be asked is said before: models, and hosts that only another way through the flow reaches.
#[test]
fn what_may_be_asked_is_said_before_it_is() {
    let (place, server) = shop((0..40).map(|_| Reply::text("70")));
    let plan = place.run(&["try", "r", "--at", "root/step:price", "--model", "large", "--plan"]);
    let hosts = format!("another way through the flow may fetch from {}", server.host());
    assert!(plan.stdout.contains("models asked: small, large") && plan.stdout.contains(&hosts), "{plan}");
    assert_eq!(server.asked().len(), 1);
    let found = place.run(&["culprit", "r", "--fails", "output.eur > 80", "--budget", "4", "--samples", "1"]);
    let said = found.stderr.find("at most 200 forks and 4 model calls");
    assert!(said.is_some() && found.stderr.contains("models asked: small"), "{found}");
}

#[test]
fn every_text_of_a_generator_is_tried_and_adopted() {
    let (place, server) = shop((0..9).map(|_| Reply::text("70")));
    let user = file(&place, "user.md", "What does ${input.name} cost?\n");
    let context = file(&place, "context.md", "The shop sells coffee.\n");
    let flags = ["--prompt", &format!("user:{user}"), "--prompt", &format!("context:{context}")];
    let found = tried(&place, &flags);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    let names: Vec<&String> = found["arms"][0]["axes"].as_object().expect("axes").keys().collect();
    assert_eq!(names, ["user", "context"], "{found}");
    let told = told(&server);
    let is_new = |texts: &Vec<String>| {
        let has = |text: &str| texts.iter().any(|told| told == text);
        has("What does tea cost?") && has("The shop sells coffee.") && has("Say a price.")
    };
    assert_eq!((told.len(), told.iter().filter(|texts| is_new(texts)).count()), (2, 1), "{told:?}");
    let id = found["id"].as_str().unwrap_or_default();
    let written = place.run(&["--json", "adopt", id, "1", "--write"]);
    assert_eq!(written.code, Some(0), "{written}");
    let text = std::fs::read_to_string(place.dir().join("flows/shop.ts")).expect("a flow");
    assert!(text.contains("user: (input) => `What does ${input.name} cost?`"), "{text}");
    assert!(text.contains("context: \"The shop sells coffee.\""), "{text}");
    assert_eq!(place.ask("check").code, Some(0));
}

#[test]
fn a_prompt_is_tried_in_the_code_of_a_revision() {
    let (place, server) = shop((0..9).map(|_| Reply::text("70")));
    let git = |words: &[&str]| {
        let done = Command::new("git").current_dir(place.dir()).args(words).output().expect("git is there");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["config", "user.name", "Ada"]);
    place.write("flows/shop.ts", FLOW.replace("eur: Number(said)", "eur: Number(said) + 1"));
    git(&["add", "flows"]);
    git(&["commit", "-q", "-m", "one more"]);
    git(&["tag", "more"]);
    place.write("flows/shop.ts", FLOW);
    let prompt = file(&place, "prompt.md", "Say a low price.\n");
    let found = tried(&place, &["--prompt", &prompt, "--code", "more"]);
    assert_eq!(found.code, Some(0), "{found}");
    let sample = &found.json()["arms"][0]["samples"][0];
    assert_eq!(sample["output"], json!({ "eur": 71 }), "{found}");
    let is_low = |texts: &&Vec<String>| texts.iter().any(|text| text.starts_with("Say a low price."));
    assert_eq!(told(&server).iter().filter(is_low).count(), 1);
    // What an earlier revision cannot take is said with the revision.
    place.write("flows/shop.ts", FLOW.replace("name: \"price\"", "name: `pri${\"ce\"}`"));
    git(&["commit", "-q", "-a", "-m", "hidden"]);
    place.write("flows/shop.ts", FLOW);
    let refused = tried(&place, &["--prompt", &prompt, "--code", "HEAD"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--code HEAD: the definition of"), "{refused}");
}

/// The base arm was paid for, and then each other arm said that it could not begin.
#[test]
fn a_value_that_the_schema_refuses_is_told_before() {
    let (place, server) = shop((0..9).map(|_| Reply::text("70")));
    let refused = tried(&place, &["--set", "session.n=many,few"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--set session.n"), "{refused}");
    assert_eq!((server.asked().len(), place.get("experiments")), (1, json!([])));
    let plan = tried(&place, &["--set", "session.n=many,2", "--plan"]).json();
    let cannot = plan["cannotRun"].as_array().expect("reasons");
    assert!(cannot.len() == 1 && cannot[0].as_str().is_some_and(|why| why.starts_with("arm 1: --set session.n")));
    assert_eq!(plan["modelCalls"], 2, "{plan}");
}

/// A process that the command left behind held its output, and the experiment with it.
#[cfg(unix)]
#[test]
fn a_command_that_leaves_a_process_behind_ends() {
    let (place, _server) = shop((0..9).map(|_| Reply::text("70")));
    let left = place.dir().join("left").display().to_string();
    // It ends once the other process has left its group.
    let command = format!("setsid sh -c 'touch {left}; sleep 20' & until [ -e {left} ]; do sleep 0.05; done; echo 1");
    let found = tried(&place, &["--score-command", &command]).json();
    let sample = &found["arms"][0]["samples"][0];
    assert!(sample["scoreError"].as_str().is_some_and(|why| why.contains("left a process behind")), "{found}");
}

/// Each block before the place asks a server, which counts.
#[test]
fn a_hundred_arms_run_nothing_of_what_came_before() {
    let (steps, before) = (200, 180);
    let server = Server::start((0..before).map(|_| Reply::body("text/plain", "1")));
    let flow = format!(
        r#"import {{ defineFlow, handler, sequencer }} from "@flow-state-dev/core";
import {{ z }} from "zod";
const any = z.any();
const count = handler({{ name: "count", inputSchema: any, outputSchema: any, execute: async (n) => {{
  await fetch("{}/count", {{ method: "POST", body: "1" }});
  return n + 1;
}} }});
const last = handler({{ name: "last", inputSchema: any, outputSchema: any, execute: (n) => n + 1 }});
let all = sequencer({{ name: "all", inputSchema: any }});
for (let n = 0; n < {steps}; n++) all = all.step(n < {before} ? count : last);
export default defineFlow({{ kind: "shop", actions: {{ go: {{ inputSchema: any, block: all }} }} }});
"#,
        server.address()
    );
    let place = Place::new().file("flows/shop.ts", &flow).file("flowglass.json", &settings(&server));
    assert_eq!(place.ask("run shop go --user ada --request r --input 0").code, Some(0));
    assert_eq!(server.asked().len(), before);
    let values: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    let set = format!("session.n={}", values.join(","));
    let found = place.run(&["--json", "try", "r", "--at", "root/step:last", "--set", &set]);
    assert_eq!(found.code, Some(0), "{found}");
    let found = found.json();
    let arms = found["arms"].as_array().expect("arms");
    assert!(arms.len() == 100 && arms.iter().all(|arm| arm["samples"][0]["output"] == steps), "{found}");
    assert_eq!(server.asked().len(), before, "blocks before the place ran again");
}
