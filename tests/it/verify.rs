//! Recorded runs are tests: `verify` replays them with the code of today, and says which do something else, and where.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::processes::Processes;

const TAX: &str = "export const tax = (sum: number) => sum * 2;\n";
const CART: &str = r#"import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { tax } from "./tax";
const prices = z.array(z.number());
const sum = handler({ name: "sum", inputSchema: prices, outputSchema: z.any(), execute: async (input, ctx) => {
  const total = input.reduce((all, one) => all + one, 0);
  await ctx.session.patchState({ total });
  if (total > 100) throw new Error(`too much: ${total}`);
  return { total, count: input.length };
} });
const addTax = handler({ name: "tax", inputSchema: z.any(), outputSchema: z.any(), execute: (cart, ctx) => {
  ctx.emit.message(`tax of ${cart.total}`);
  return { ...cart, total: cart.total + tax(cart.total) };
} });
const small = handler({ name: "small", inputSchema: z.any(), outputSchema: z.any(), execute: (cart) => ({ ...cart, size: "small" }) });
const large = handler({ name: "large", inputSchema: z.any(), outputSchema: z.any(), execute: (cart) => ({ ...cart, size: "large" }) });
const size = router({ name: "size", inputSchema: z.any(), routes: [small, large], execute: (cart) => (cart.count > 2 ? large : small) });
const words = generator({ name: "words", model: "openai/gpt-5-mini", inputSchema: z.any(), outputSchema: z.string(), prompt: "Thank them.", user: (cart) => `${cart.total}` });
export default defineFlow({
  kind: "cart",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  actions: {
    pay: { inputSchema: prices, block: sequencer({ name: "pay", inputSchema: prices }).step(sum).step(addTax).step(size) },
    thank: { inputSchema: prices, block: sequencer({ name: "thank", inputSchema: prices }).step(sum).step(words) },
  },
});
"#;

fn cart() -> Place {
    let place = Place::new();
    place.write("flows/cart.ts", CART);
    place.write("flows/tax.ts", TAX);
    place.write("flows/cart.mock.json", r#"{ "generators": { "words": [{ "text": "Thanks" }] } }"#);
    for (request, input) in [("one", "[1]"), ("two", "[1,2]"), ("three", "[1,2,3]"), ("fails", "[101]")] {
        place.run(&["run", "cart", "pay", "--user", "ada", "--request", request, "--input", input]);
    }
    place.run(&["run", "cart", "thank", "--user", "ada", "--request", "thanks", "--input", "[4]", "--mock"]);
    place
}

/// What was found of each request, newest first: its verdict, and where it differs first.
fn found(answer: &Answer) -> Value {
    let rows = answer.json()["results"].as_array().cloned().unwrap_or_default();
    let row = |row: &Value| {
        let name = row.get("file").unwrap_or(&row["requestId"]);
        match row.get("path") {
            Some(path) => json!([name, row["verdict"], path, row["field"], row["place"]]),
            None => json!([name, row["verdict"]]),
        }
    };
    rows.iter().map(row).collect()
}

#[test]
fn requests_whose_code_is_the_code_that_ran_are_not_run() {
    let place = cart();
    let verified = place.ask("verify");
    assert_eq!((verified.code, &verified.json()["unaffected"]), (Some(0), &json!(5)), "{verified}");
    let verified = place.ask("verify --all");
    assert_eq!((verified.code, &verified.json()["same"]), (Some(0), &json!(5)), "{verified}");
    assert_eq!(verified.json()["groups"], json!([]));
}

#[test]
fn an_edit_of_a_module_is_told_by_its_first_difference_in_each_run() {
    let place = cart();
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(1), "{verified}");
    let differs = |request: &str| json!([request, "differs", "root/step:tax", "output", "total"]);
    let expected = json!([["thanks", "same"], ["fails", "same"], differs("three"), differs("two"), differs("one"),]);
    assert_eq!(found(&verified), expected);
    let document = verified.json();
    let group = &document["groups"][0];
    assert_eq!(document["groups"].as_array().map(Vec::len), Some(1), "one reason is one group: {document:#}");
    assert_eq!((&group["count"], &group["path"], &group["flow"]), (&json!(3), &json!("root/step:tax"), &json!("cart")));
    assert_eq!(group["example"], "three");
    let row = &document["results"][2];
    assert_eq!(row["recorded"], json!({ "total": 18, "count": 3 }));
    assert_eq!(row["found"], json!({ "total": 24, "count": 3 }));
    let text = place.run(&["verify"]).stdout;
    assert!(text.contains("3  differ  cart  root/step:tax  output  at total\n"), "{text}");
    assert!(text.ends_with("5 runs: 2 same, 3 differ\n"), "{text}");
}

#[test]
fn every_kind_of_difference_has_its_field() {
    let place = cart();
    for (from, to, request, expected) in [
        (
            "ctx.session.patchState({ total })",
            "ctx.session.patchState({ total: total + 1 })",
            "one",
            json!(["root/step:sum", "state", "session"]),
        ),
        ("tax of ${", "the tax of ${", "one", json!(["root/step:tax", "items", "content[0].text"])),
        ("cart.count > 2", "cart.count > 0", "one", json!(["root/step:size", "route", null])),
        ("too much: ", "far too much: ", "fails", json!(["root/step:sum", "error", "message"])),
        ("if (total > 100)", "if (total > 1000)", "fails", json!(["root/step:sum", "error", null])),
        ("if (total > 100)", "if (total > 0)", "one", json!(["root/step:sum", "error", null])),
        ("count: input.length }", "count: input.length + 1 }", "one", json!(["root/step:sum", "output", "count"])),
        (
            ".step(sum).step(addTax)",
            ".step(sum).map((cart) => ({ ...cart, total: 7 })).step(addTax)",
            "one",
            json!(["root/step:tax", "input", "total"]),
        ),
        (".step(sum).step(addTax)", ".step(sum)", "one", json!(["root/step:tax", "route", null])),
    ] {
        assert!(CART.contains(from), "{from}");
        place.write("flows/cart.ts", CART.replace(from, to));
        let verified = place.ask(&format!("verify --request {request}"));
        assert_eq!(verified.code, Some(1), "{to}\n{verified}");
        let row = &verified.json()["results"][0];
        assert_eq!(row["verdict"], "differs", "{to}: {row:#}");
        assert_eq!(json!([row["path"], row["field"], row["place"]]), expected, "{to}: {row:#}");
    }
}

#[test]
fn what_a_model_was_not_asked_is_asked_anew_and_cannot_be_accepted() {
    let place = cart();
    place.write("flows/cart.ts", CART.replace("Thank them.", "Thank them well."));
    let verified = place.ask("verify --accept");
    assert_eq!(verified.code, Some(1), "{verified}");
    let row = &verified.json()["results"][0];
    assert_eq!(
        (&row["requestId"], &row["verdict"], &row["field"]),
        (&json!("thanks"), &json!("asks_new"), &json!("effect"))
    );
    assert_eq!(row["found"], json!({ "model": { "messages[0].content": "Thank them well." } }));
    assert!(row["why"].as_str().is_some_and(|why| why.contains("live run")), "{row}");
    assert_eq!(verified.json()["results"][1]["verdict"], "same");
}

#[test]
fn what_is_accepted_is_expected_until_it_is_taken_back() {
    let place = cart();
    let before = place.get("events one");
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    let verified = place.ask("verify --accept");
    assert_eq!(verified.code, Some(0), "{verified}");
    assert_eq!(verified.json()["results"][4]["accepted"], true);
    assert_eq!(place.get("events one"), before, "the log stays as it is");
    assert_eq!(place.get("verify")["same"], 5);
    // The code that ran does something else than what is expected now.
    place.write("flows/tax.ts", TAX);
    let verified = place.ask("verify");
    assert_eq!((&verified.json()["differs"], &verified.json()["unaffected"]), (&json!(3), &json!(2)), "{verified}");
    assert_eq!(verified.json()["results"][2]["recorded"], json!({ "total": 24, "count": 3 }), "what is expected");
    assert_eq!(place.get("verify --accept")["differs"], 3);
    assert_eq!(place.get("verify")["unaffected"], 5, "what the log says needs no words beside it");
    assert_eq!(place.ask("check --data").code, Some(0));
    // What is expected of a request goes with it.
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    place.get("verify --accept");
    let session = place.get("show one")["request"]["sessionId"].as_str().unwrap_or_default().to_owned();
    place.get(&format!("delete --session {session}"));
    assert_eq!(place.get("verify")["same"], 4);
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// What was accepted here holds on another machine, too; what a file says of other requests does not.
#[test]
fn what_is_accepted_travels_with_its_request() {
    let place = cart();
    place.write("flows/tax.ts", TAX.replace('2', "3"));
    place.get("verify --request one --accept");
    assert_eq!(place.ask("export --request one --out one.export").code, Some(0));
    assert_eq!(place.ask("import one.export --data there.db").code, Some(0));
    let there = place.ask("verify --data there.db");
    assert_eq!((there.code, found(&there)), (Some(0), json!([["one", "same"]])), "{there}");
    // It is here as it is in the file: what is expected of it stays as a person left it.
    place.write("flows/tax.ts", TAX);
    place.get("verify --request one --accept");
    assert_eq!(place.get("import one.export")["imported"], false);
    assert_eq!(place.ask("verify --request one --all").code, Some(0));
}

#[test]
fn a_flow_that_is_gone_or_broken_is_told_of_each_run_once() {
    let place = cart();
    place.write("flows/cart.ts", "export default defineFlow({");
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(1), "{verified}");
    assert_eq!(verified.json()["doesNotLoad"], 5, "{verified}");
    assert_eq!(verified.json()["groups"].as_array().map(Vec::len), Some(1));
    place.write("flows/cart.ts", CART.replace("kind: \"cart\"", "kind: \"basket\""));
    let verified = place.ask("verify");
    assert_eq!(verified.json()["doesNotLoad"], 5, "{verified}");
    let why = &verified.json()["groups"][0]["why"];
    assert!(why.as_str().is_some_and(|why| why.contains("unknown flow \"cart\"") && why.contains("basket")), "{why}");
    place.write("flows/cart.ts", CART.replace("pay: {", "paid: {"));
    let verified = place.ask("verify --request one");
    assert_eq!(verified.json()["doesNotLoad"], 1, "{verified}");
}

#[test]
fn a_flow_that_never_ends_is_ended_by_a_limit_that_is_named() {
    let place = cart();
    place.write("flowglass.json", r#"{ "limits": { "yieldMs": 3000 } }"#);
    place.write("flows/cart.ts", CART.replace("const total", "for (;;) input.length;\n  const total"));
    let verified = place.ask("verify --request one --request two");
    assert_eq!(verified.code, Some(1), "{verified}");
    let group = &verified.json()["groups"][0];
    assert_eq!((&group["count"], &group["field"]), (&json!(2), &json!("error")), "{verified}");
    assert!(group["why"].as_str().is_some_and(|why| why.contains("limits.yieldMs")), "{group}");
}

#[test]
fn the_selection_is_by_request_session_flow_status_and_time() {
    let place = cart();
    place.write("flows/other.ts", CART.replace("kind: \"cart\"", "kind: \"other\""));
    place.run(&["run", "other", "pay", "--user", "ada", "--request", "else", "--session", "s", "--input", "[1]"]);
    let of = |query: &str| {
        let found = place.ask(&format!("verify {query}"));
        assert_eq!(found.code, Some(0), "{query}\n{found}");
        let ids = found.json()["results"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| row["requestId"].clone())
            .collect::<Vec<_>>();
        json!(ids)
    };
    assert_eq!(of("--request two --request else"), json!(["two", "else"]));
    assert_eq!(of("--session s"), json!(["else"]));
    assert_eq!(of("--flow other"), json!(["else"]));
    assert_eq!(of("--flow cart --status failed"), json!(["fails"]));
    assert_eq!(of("--since 1h").as_array().map(Vec::len), Some(6));
    assert_eq!(of("--since 2999-01-01"), json!([]));
    for (query, code, what) in [
        ("--request nobody", 6, "unknown request"),
        ("--session nobody", 6, "unknown session"),
        ("--flow nothing", 6, "unknown flow \"nothing\"; there are: cart, other"),
        ("--since yesterday", 2, "2h"),
        ("--jobs 0", 2, "jobs"),
        ("a.run --flow cart", 2, "cannot be used with"),
        ("--watch --accept", 2, "cannot be used with"),
    ] {
        let refused = place.ask(&format!("verify {query}"));
        assert_eq!(refused.code, Some(code), "{query}\n{refused}");
        assert!(refused.stderr.contains(what), "{query}\n{refused}");
    }
    assert_eq!(place.run(&["verify", "--since", "2999-01-01"]).stdout, "no recorded run is selected\n");
}

#[test]
fn a_junit_report_has_every_run() {
    let place = cart();
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    let verified = place.ask("verify --junit out.xml --all");
    assert_eq!(verified.code, Some(1), "{verified}");
    let report = std::fs::read_to_string(place.dir().join("out.xml")).expect("it is written");
    assert!(report.contains(r#"tests="5" skipped="0" failures="3" errors="0""#), "{report}");
    assert!(report.contains("differs root/step:tax output total"), "{report}");
    let refused = place.ask("verify --junit no/where/out.xml");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("no/where/out.xml cannot be written"), "{refused}");
    assert!(!place.dir().join("no").exists(), "a path that is probably mistyped makes no folders");
    // One folder that is missing is made, as `keep` and `export` do.
    assert_eq!(place.ask("verify --all --junit reports/out.xml").code, Some(1));
    assert!(place.dir().join("reports/out.xml").is_file());
}

/// Verdicts do not depend on how many are found out at once, nor on what else the machine does.
#[test]
fn many_at_once_are_judged_as_one_after_another() {
    let place = cart();
    for nth in 0..40 {
        place.run(&[
            "run",
            "cart",
            "pay",
            "--user",
            "ada",
            "--request",
            &format!("r{nth}"),
            "--input",
            &format!("[{nth}]"),
        ]);
    }
    place.write("flows/tax.ts", "export const tax = (sum: number) => (sum > 20 ? 0 : sum * 2);\n");
    let alone = place.ask("verify --jobs 1").json();
    let together = place.ask("verify --jobs 16").json();
    assert_eq!(alone, together);
    assert_eq!(alone["differs"], 19, "those of 21 to 39");
}

/// Two processes verify and accept while another one runs requests: nobody fails, and nothing is lost.
#[test]
fn two_batches_and_live_runs_share_the_database() {
    let place = cart();
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    std::thread::scope(|scope| {
        let accept = || (0..3).for_each(|_| assert_eq!(place.ask("verify --accept --all").code, Some(0)));
        scope.spawn(accept);
        scope.spawn(accept);
        for nth in 0..6 {
            place.run(&["run", "cart", "pay", "--user", "bob", "--request", &format!("live{nth}"), "--input", "[2]"]);
        }
    });
    assert_eq!(place.get("verify --all")["same"], 11);
    assert_eq!(place.ask("check --data").code, Some(0));
}

/// `--watch` verifies again when a file is saved, and tells each round on a line.
#[test]
fn a_watch_verifies_again_at_every_save() {
    let place = cart();
    // A round may see a file that is half saved, and be followed by the one that is meant.
    let watch = place.start("verify --watch");
    let until = |what: &str, count: u64| watch.until_it_prints(what, |round| round[what] == count);
    until("unaffected", 5);
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    assert_eq!(until("differs", 3)["same"], 2);
    place.write("flows/cart.ts", "export default");
    until("doesNotLoad", 5);
    place.write("flows/tax.ts", TAX);
    place.write("flows/cart.ts", CART);
    until("unaffected", 5);
    watch.signal("INT");
    let ended = watch.ended();
    // A save may be followed by one more round, which says that it was ended.
    let is_cut_off = ended.stdout.lines().last().is_some_and(|round| round.contains("notRun"));
    assert_eq!(ended.code, Some(if is_cut_off { 1 } else { 0 }), "{ended}");
}

/// Whoever ends a batch keeps what has a verdict, and is told what has none.
#[test]
fn a_batch_that_is_ended_says_what_was_not_run() {
    let place = cart();
    place.write("flowglass.json", r#"{ "limits": { "yieldMs": 6000 } }"#);
    for nth in 0..12 {
        place.run(&["run", "cart", "pay", "--user", "ada", "--request", &format!("r{nth}"), "--input", "[7]"]);
    }
    place.write(
        "flows/cart.ts",
        CART.replace("const total", "if (input[0] === 7) for (;;) input.length;\n  const total"),
    );
    let mut verify = place.start("verify --jobs 1 --junit out.xml");
    // Nothing but the loop of the newest run takes that long.
    let process = Processes { program: verify.id(), others: Vec::new() };
    place.until("the newest run loops", |_| (process.program_ms() > 2_500.0).then_some(()));
    verify.signal("INT");
    verify.until_it_says("stopping; repeat to exit at once");
    let ended = verify.ended();
    let found = ended.json();
    assert_eq!(ended.code, Some(1), "{ended}");
    let judged = found["results"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(found["notRun"].as_u64(), Some(17 - judged), "{ended}");
    let missing = found["missing"].as_array().cloned().unwrap_or_default();
    assert_eq!(missing.len() as u64, 17 - judged, "those without a verdict are named: {ended}");
    assert_eq!(missing.last(), Some(&json!("one")), "in the order in which they were selected: {ended}");
    let report = std::fs::read_to_string(place.dir().join("out.xml")).expect("it is written");
    assert!(report.contains("the verification was cancelled"), "{report}");
    assert!(judged < 17, "{ended}");
}

/// A request that waits for an answer has come to an end of its own: what it did not do before is a difference, and so
/// is another question.
#[test]
fn a_request_that_waits_is_compared_with_its_question() {
    const WAITS: &str = r#"
const first = handler({ name: "first", inputSchema: z.any(), outputSchema: z.any(), execute: () => 1 });
const ask = handler({ name: "ask", inputSchema: z.any(), outputSchema: z.any(), execute: (input, ctx) => ctx.suspend({ reason: "approval", message: "Shall we?" }) });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() }).step(first).step(ask) } } });
"#;
    let place = Place::with_flow(WAITS);
    place.run(&["run", "main", "go", "--user", "ada", "--request", "r"]);
    assert_eq!(place.get("verify --all")["same"], 1);
    for (from, to, path) in [
        ("Shall we?", "Shall we now?", "root/step:ask"),
        (".step(ask)", ".step(first)", "root/step:ask"),
        (".step(first)", ".step(first).step(first)", "root/step:first~2"),
        ("ctx.suspend({ reason: \"approval\", message: \"Shall we?\" })", "2", "root/step:ask"),
    ] {
        place.edit(&WAITS.replacen(from, to, 1));
        let verified = place.ask("verify");
        assert_eq!(verified.code, Some(1), "{to}\n{verified}");
        assert_eq!(verified.json()["results"][0]["path"], path, "{to}\n{verified}");
    }
}

/// What no single block tells: the order of steps, and what a state begins with.
#[test]
fn steps_in_another_order_and_states_that_begin_otherwise_differ() {
    const TAPS: &str = r#"
const a = handler({ name: "a", inputSchema: z.any(), outputSchema: z.any(), execute: (input, ctx) => { ctx.emit.message("a"); } });
const b = handler({ name: "b", inputSchema: z.any(), outputSchema: z.any(), execute: (input, ctx) => { ctx.emit.message("b"); } });
export default defineFlow({ kind: "main", session: { stateSchema: z.object({ n: z.number().default(0) }) }, actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() }).tap(a).tap(b) } } });
"#;
    let place = Place::with_flow(TAPS);
    place.run(&["run", "main", "go", "--user", "ada", "--request", "r"]);
    for (from, to, field) in [(".tap(a).tap(b)", ".tap(b).tap(a)", "route"), ("default(0)", "default(7)", "state")] {
        place.edit(&TAPS.replace(from, to));
        let verified = place.ask("verify");
        assert_eq!((verified.code, &verified.json()["results"][0]["field"]), (Some(1), &json!(field)), "{verified}");
        assert_eq!(place.ask("verify --accept").code, Some(0), "{to}");
        assert_eq!(place.ask("verify").json()["same"], 1, "{to} is expected from now on");
        place.edit(TAPS);
        let verified = place.ask("verify --accept");
        assert_eq!((&verified.json()["results"][0]["field"], verified.code), (&json!(field), Some(0)), "{verified}");
        assert_eq!(place.ask("verify").json()["unaffected"], 1);
    }
}

/// What is accepted and cannot be stored keeps no other verdict back.
#[cfg(unix)]
#[test]
fn a_verdict_is_told_where_its_acceptance_cannot_be_written() {
    let place = cart();
    for request in ["one", "two"] {
        place.get(&format!("keep {request} --as {request}.run"));
    }
    place.write("flows/tax.ts", TAX.replace("* 2", "* 3"));
    // The file stays as it is where no other file can be put beside it: its name has become too long for that.
    let long = format!("{}.run", "x".repeat(250));
    std::fs::rename(place.dir().join("one.run"), place.dir().join(&long)).expect("the name is allowed");
    let verified = place.ask(&format!("verify {long} two.run --accept"));
    assert_eq!(verified.code, Some(1), "{verified}");
    let results = verified.json()["results"].clone();
    assert!(results[0]["why"].as_str().is_some_and(|why| why.contains("was not accepted")), "{verified}");
    assert_eq!((&results[0]["verdict"], &results[1]["accepted"]), (&json!("differs"), &json!(true)), "{verified}");
}

/// The limits of a machine end a flow elsewhere on another one, and what it does before is no outcome.
#[test]
fn what_a_limit_ended_is_not_accepted() {
    let place = cart();
    place.write("flowglass.json", r#"{ "limits": { "yieldMs": 3000 } }"#);
    place.write("flows/cart.ts", CART.replace("const total", "for (;;) input.length;\n  const total"));
    let verified = place.ask("verify --request one --accept");
    assert_eq!((verified.code, &verified.json()["results"][0]["accepted"]), (Some(1), &Value::Null), "{verified}");
}

/// Settings that are newer than a request may be what it reads.
#[test]
fn newer_settings_are_no_reason_to_trust_the_same_code() {
    let place = cart();
    place.write("flowglass.json", "{}");
    assert_eq!(place.get("verify")["same"], 5);
}

/// Nor are settings whose time says that they are older, nor settings that are gone.
#[cfg(unix)]
#[test]
fn settings_that_were_changed_or_removed_may_be_what_a_request_read() {
    let place = Place::new();
    place.write("flowglass.json", "{}");
    place.write("flows/cart.ts", CART);
    place.write("flows/tax.ts", TAX);
    place.run(&["run", "cart", "pay", "--user", "ada", "--request", "one", "--input", "[1]"]);
    assert_eq!(place.get("verify")["unaffected"], 1);
    let settings = place.dir().join("flowglass.json");
    place.write("flowglass.json", "{ }");
    let file = std::fs::File::options().write(true).open(&settings).expect("it is there");
    file.set_modified(std::time::UNIX_EPOCH).expect("it is ours");
    assert_eq!(place.get("verify")["same"], 1, "a time is no proof");
    std::fs::remove_file(&settings).expect("it is ours");
    assert_eq!(place.get("verify")["same"], 1, "it may have been there");
}
