//! Experiments refuse unusable options before any model call, and what they take is told and counted:
//! each request that is sent is a call, and a sample that needs no call runs with a spent budget.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

const HEAD: &str = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const session = { stateSchema: z.object({ n: z.number().default(0) }) };
const check = handler({ name: "check", inputSchema: any, outputSchema: any, execute: (said: any) => ({ eur: Number(said) }) });
"#;
const OFFER: &str = r#"const price = generator({ name: "price", model: "small", inputSchema: any, outputSchema: z.string(),
  prompt: "Say a price.", user: () => "Price of tea?" });
export default defineFlow({ kind: "shop", session,
  actions: { offer: { inputSchema: any, block: sequencer({ name: "offer", inputSchema: any }).step(price).step(check) } } });
"#;

/// A workspace with the request `r`, for which the server was asked once.
fn shop(flow: &str, replies: impl IntoIterator<Item = Reply>) -> (Place, Server) {
    let server = Server::start([Reply::text("90")].into_iter().chain(replies));
    let model = |name: &str| json!({ "model": name, "baseUrl": format!("{}/v1", server.address()) });
    let settings = json!({ "models": { "small": model("small-1"), "large": model("large-1") } });
    let place = Place::new().file("flows/shop.ts", &format!("{HEAD}{flow}"));
    let place = place.file("flowglass.json", &settings.to_string());
    let ran = place.ask("run shop offer --user ada --request r --input {}");
    assert_eq!(ran.code, Some(0), "{ran}");
    (place, server)
}

fn texts(texts: &[&'static str]) -> Vec<Reply> {
    texts.iter().copied().map(Reply::text).collect()
}

/// A server that answers with a document, also if it is asked for a stream.
fn document(text: &str) -> Reply {
    Reply::whole(json!({ "role": "assistant", "content": text }), "stop")
}

fn tried(place: &Place, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "r", "--at", "root/step:price"].as_slice(), more].concat())
}

/// Goes on with an experiment, or says what is left of it.
fn goes_on(place: &Place, view: &Value, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "--go-on", view["id"].as_str().expect("an id")].as_slice(), more].concat())
}

/// Such a server was asked twice for each call, and one of the two was counted.
#[test]
fn a_server_that_does_not_stream_is_asked_once_for_each_call() {
    let (place, server) = shop(OFFER, (0..9).map(|_| document("70")));
    let found = tried(&place, &["--samples", "5", "--budget", "3"]).json();
    assert_eq!((&found["stopped"], &found["missing"]), (&json!("budget"), &json!(2)), "{found}");
    assert_eq!(server.asked().len(), 4, "the request, and three calls");
    let ended = |sample: &&Value| sample["output"] == json!({ "eur": 70 }) && sample["usage"]["totalTokens"] == 18;
    assert_eq!(found["base"]["samples"].as_array().expect("samples").iter().filter(ended).count(), 3, "{found}");
}

#[test]
fn a_plan_says_that_retries_come_on_top() {
    let (place, _server) = shop(OFFER, []);
    for line in ["try r --at root/step:price --plan", "try r --at root/step:check --plan"] {
        let plan = place.ask(line);
        assert_eq!(plan.stdout.contains("retries"), line.contains("price"), "{plan}");
    }
}

/// A sample that shares its only answer was held back by a budget that it needs nothing of.
#[test]
fn samples_that_share_their_answers_run_with_a_spent_budget() {
    let (place, server) = shop(OFFER, texts(&["70", "60"]));
    let found = tried(&place, &["--set", "session.n=1,2", "--budget", "1", "--jobs", "1"]).json();
    assert_eq!((&found["stopped"], &found["missing"], server.asked().len()), (&Value::Null, &json!(0), 2), "{found}");
    for arm in found["arms"].as_array().expect("arms") {
        assert_eq!(arm["samples"][0]["usage"]["sharedCalls"], 1, "{found}");
    }
    // All at once, and with a second sample that none pays for.
    let more = tried(&place, &["--set", "session.n=1,2", "--budget", "1", "--samples", "2"]).json();
    assert_eq!((&more["stopped"], &more["missing"], server.asked().len()), (&json!("budget"), &json!(3), 3), "{more}");
    assert_eq!(place.get("requests --filter is:sample").as_array().map(Vec::len), Some(6));
}

/// What a sample asks is known when it asks: it may be something else.
#[test]
fn a_sample_that_asks_something_else_waits_for_a_larger_budget() {
    let flow = OFFER.replace("() => \"Price of tea?\"", "(_: any, ctx: any) => `Price of tea ${ctx.session.state.n}?`");
    let (place, server) = shop(&flow, texts(&["70", "60", "50", "40"]));
    let values: Vec<String> = (1..=8).map(|n| n.to_string()).collect();
    let set = format!("session.n={}", values.join(","));
    let found = tried(&place, &["--set", &set, "--budget", "1", "--jobs", "1"]).json();
    assert_eq!(
        (&found["stopped"], &found["missing"], server.asked().len()),
        (&json!("budget"), &json!(8), 2),
        "{found}"
    );
    let begun = place.get("requests --filter is:sample").as_array().map_or(0, Vec::len);
    assert!(begun <= 6, "few samples begin in vain: {begun}");
    let same = goes_on(&place, &found, &[]).json();
    assert_eq!((&same["missing"], server.asked().len()), (&json!(8), 2), "{same}");
    let more = goes_on(&place, &found, &["--budget", "3", "--jobs", "1"]).json();
    assert_eq!((&more["missing"], server.asked().len()), (&json!(6), 4), "{more}");
    assert_eq!(more["arms"][0]["samples"][0]["output"], json!({ "eur": 60 }), "{more}");
}

#[test]
fn what_is_left_of_an_experiment_is_told_before_it_goes_on() {
    let (place, server) = shop(OFFER, texts(&["70", "60", "50", "40"]));
    let found = tried(&place, &["--model", "large", "--samples", "2", "--budget", "1", "--jobs", "1"]).json();
    assert_eq!((&found["missing"], server.asked().len()), (&json!(3), 2), "{found}");
    let before = place.get("stats");
    let plan = goes_on(&place, &found, &["--plan", "--budget", "3"]).json();
    assert_eq!(plan["left"], json!({ "toBegin": 3, "toContinue": 0, "toScore": 0 }), "{plan}");
    assert_eq!((&plan["modelCalls"], &plan["baseModelCalls"]), (&json!(3), &json!(1)), "{plan}");
    let more = goes_on(&place, &found, &["--plan", "--budget", "9", "--samples", "3", "--score", "output.eur"]).json();
    assert_eq!(more["left"], json!({ "toBegin": 5, "toContinue": 0, "toScore": 1 }), "{more}");
    assert_eq!(more["modelCalls"], 5, "{more}");
    let id = found["id"].as_str().unwrap_or_default();
    let shown = place.run(&["try", "--go-on", id, "--plan", "--budget", "9"]);
    let line = "left to do: 3 samples to begin: at most 3 model calls";
    assert!(shown.stdout.starts_with(line), "{shown}");
    assert!(shown.stdout.contains("1 of the 9 model calls of the budget were made before; 8 are left"), "{shown}");
    assert_eq!((server.asked().len(), place.get("stats")), (2, before), "nothing is run or written");
    // The same is said before it goes on.
    let done = place.run(&["try", "--go-on", id, "--budget", "9"]);
    assert!(done.stderr.starts_with(line) && server.asked().len() == 5, "{done}");
    let nothing = place.run(&["try", "--go-on", id, "--plan"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "nothing is left to do\n"));
    assert_eq!(place.ask("try --go-on exp_nothing --plan").code, Some(6));
}

/// The plan was printed, and then the search was refused.
#[test]
fn a_search_that_is_refused_announces_nothing() {
    let (place, server) = shop(OFFER, []);
    let check = |args: &[&str], code: i32, part: &str| {
        let refused = place.run(&[["culprit"].as_slice(), args].concat());
        assert!(refused.code == Some(code) && refused.stderr.contains(part), "{args:?}: {refused}");
        assert!(!refused.stderr.contains("at most") && refused.stdout.is_empty(), "{args:?}: {refused}");
    };
    check(&["r", "--fails", "output.eur <"], 2, "--fails: syntax error at column");
    check(&["r", "--fails", "output.eur > 1000"], 2, "false of request \"r\" itself");
    check(&["r", "--fails", "output.eur"], 2, "true or false, not 90");
    check(&["r", "--fails", "output.nothing.more"], 2, "TypeError");
    check(&["r", "--fails", "true", "--budget", "0"], 2, "a whole number from 1 to");
    check(&["r", "--fails", "true", "--budget", "-1"], 2, "a whole number from 1 to");
    check(&["nobody", "--fails", "true"], 6, "unknown request");
    assert_eq!((server.asked().len(), place.get("requests --filter is:sample")), (1, json!([])));
}

/// A slip in the name of a parameter made an arm like the base arm.
#[test]
fn a_parameter_that_model_calls_do_not_have_is_refused() {
    let (place, server) = shop(OFFER, texts(&["70", "60"]));
    for more in [[].as_slice(), &["--plan"]] {
        let refused = tried(&place, &[["--parameter", "tempurature=0,1"].as_slice(), more].concat());
        let told = "--parameter tempurature: model calls of root/step:price have no such setting; perhaps temperature";
        assert!(refused.code == Some(2) && refused.stderr.contains(told), "{refused}");
    }
    // A text was not sent, so that the arm was as the base arm.
    let refused = tried(&place, &["--parameter", "temperature=hot"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("\"hot\" is not a number"), "{refused}");
    assert_eq!((server.asked().len(), place.get("experiments")), (1, json!([])));
    // What one provider has of its own is given under its name.
    let found = tried(&place, &["--parameter", "openai={\"house_style\":7}", "--jobs", "1"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(server.asked()[2].json()["house_style"], 7);
}

/// A command that a signal had ended scored 0.
#[cfg(unix)]
#[test]
fn a_command_without_a_score_says_what_it_printed() {
    let (place, _server) = shop(OFFER, []);
    for (command, part) in [
        ("kill -9 $$", "the command was ended by SIGKILL"),
        ("echo 1; echo 2", "printed 2 lines, of which the first is 1; print one number, true or false"),
        ("echo NaN", "printed NaN; print one number"),
        ("echo good", "printed good; print one number"),
        ("yes", "printed more than 65536 bytes"),
    ] {
        let found = tried(&place, &["--output", "\"5\"", "--score-command", command]);
        let error = found.json()["arms"][0]["samples"][0]["scoreError"].as_str().unwrap_or_default().to_owned();
        assert!(found.code == Some(0) && error.contains(part), "{command}: {found}");
    }
}

/// Two equal scores read "5 (5–5)".
#[test]
fn equal_scores_have_no_interval() {
    let (place, _server) = shop(OFFER, texts(&["70", "70"]));
    let found = tried(&place, &["--output", "\"5\"", "--samples", "2", "--score", "output.eur"]).json();
    let summary = &found["arms"][0]["summary"];
    assert_eq!(
        (&summary["mean"], &summary["low"], &summary["high"]),
        (&json!(5.0), &Value::Null, &Value::Null),
        "{found}"
    );
    assert_eq!(summary["besideBase"], "not_enough_samples", "{found}");
    let shown = place.run(&["experiments", found["id"].as_str().unwrap_or_default()]);
    assert!(shown.stdout.contains("5 (all 2 equal), not enough samples to tell"), "{shown}");
    assert!(shown.stdout.contains("70 (all 2 equal), not enough samples to tell"), "{shown}");
}

#[test]
fn a_pass_of_a_loop_that_did_not_run_is_told_with_those_that_did() {
    let flow = r#"const up = handler({ name: "up", inputSchema: any, outputSchema: any, execute: (n: any) => n + 1 });
const all = sequencer({ name: "all", inputSchema: any }).map(() => 0).doUntil((n: any) => n >= 3, up);
export default defineFlow({ kind: "shop", actions: { offer: { inputSchema: any, block: all } } });
"#;
    let place = Place::new().file("flows/shop.ts", &format!("{HEAD}{flow}"));
    assert_eq!(place.ask("run shop offer --user ada --request r --input {}").code, Some(0));
    let refused = place.run(&["try", "r", "--at", "root/doUntil:up[9]", "--output", "9"]);
    assert!(refused.code == Some(6) && refused.stderr.contains("there are: root/doUntil:up[0]"), "{refused}");
    let found = place.run(&["--json", "try", "r", "--at", "root/doUntil:up[1]", "--output", "9"]).json();
    assert_eq!(found["arms"][0]["samples"][0]["output"], 9, "{found}");
}
