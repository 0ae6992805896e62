//! Causes that are planted in flows: the step that drew, read the clock or asked a model is the one that is named.

use std::sync::Arc;

use runner::{Cancel, CulpritQuery, OpenOptions, RunOptions, WhereDecided, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;
use tests::server::{Reply, Server};

const FLOWS: usize = 50;
const FAILS: &str = "status == \"failed\"";

/// Numbers that look like chance, the same in every run of the test.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A flow of steps, of which one decides whether the last one fails: `decides` says `wrong` or `fine`.
fn flow(kind: &str, steps: usize, at: usize, decides: &str, calm: &str) -> String {
    let chain: String = (0..steps).map(|step| if step == at { ".step(cause)" } else { ".step(calm)" }).collect();
    format!(
        r#"import {{ defineFlow, generator, handler, sequencer }} from "@flow-state-dev/core";
import {{ z }} from "zod";
const any = z.any();
const calm = handler({{ name: "calm", inputSchema: any, outputSchema: any, execute: (i) => ({calm}, i) }});
const cause = {decides};
const last = handler({{ name: "last", inputSchema: any, outputSchema: any, execute: (i) => {{
  if (i === "wrong") throw new Error("wrong");
  return i;
}} }});
export default defineFlow({{ kind: "{kind}", actions: {{ go: {{ inputSchema: any,
  block: sequencer({{ name: "all", inputSchema: any }}){chain}.step(last) }} }} }});
"#
    )
}

fn handler(expression: &str) -> String {
    format!(
        "handler({{ name: \"cause\", inputSchema: any, outputSchema: any, execute: () => {expression} ? \"wrong\" : \
         \"fine\" }})"
    )
}

const ASKS: &str = r#"generator({ name: "cause", model: "small", inputSchema: any, outputSchema: z.string(), prompt: "Say it.", user: "Now." })"#;

fn open(place: &Place) -> Arc<Workspace> {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    Workspace::open(options).expect("the workspace opens")
}

/// Runs a flow until a run of it fails.
fn failing(workspace: &Workspace, kind: &str) -> String {
    let fails = |request: &String| {
        let wanted = RunOptions {
            flow: kind.to_owned(),
            action: "go".to_owned(),
            user: "ada".to_owned(),
            request: Some(request.clone()),
            input: Some(json!("fine")),
            ..RunOptions::default()
        };
        let running = workspace.run(wanted).unwrap_or_else(|fault| panic!("{fault}"));
        running.wait().expect("it ends").status.as_str() == "failed"
    };
    (0..120).map(|nth| format!("{kind}-{nth}")).find(fails).expect("one of 120 fails")
}

#[test]
fn planted_causes_are_found_in_nine_of_ten_flows_with_at_most_200_forks() {
    let mut chance = Chance(46);
    let rate = |chance: &mut Chance| 10 + chance.next(25);
    // Of a hundred answers as many are wrong as a base rate that is between those of the other causes.
    let said = (0..FLOWS * 150).map(|_| Reply::text(if chance.next(100) < 20 { "wrong" } else { "fine" }));
    let server = Server::start(said.collect::<Vec<_>>());
    let model = json!({ "model": "small-1", "baseUrl": format!("{}/v1", server.address()) });
    let place = Place::new().file("flowglass.json", &json!({ "models": { "small": model } }).to_string());
    for nth in 0..FLOWS {
        let steps = 3 + chance.next(10) as usize;
        let at = chance.next(steps as u64) as usize;
        let decides = match nth % 3 {
            0 => handler(&format!("Math.random() < {}", rate(&mut chance) as f64 / 100.0)),
            1 => handler(&format!("Date.now() % 100 < {}", rate(&mut chance))),
            _ => ASKS.to_owned(),
        };
        let calm = if nth % 2 == 0 { "Math.random()" } else { "Date.now()" };
        place.write(&format!("flows/f{nth}.ts"), flow(&format!("f{nth}"), steps, at, &decides, calm));
    }
    let workspace = open(&place);
    let (mut first, mut others) = (0, Vec::new());
    for nth in 0..FLOWS {
        let request = failing(&workspace, &format!("f{nth}"));
        let query = CulpritQuery { request, fails: FAILS.to_owned(), ..CulpritQuery::default() };
        let found =
            workspace.culprit(&query, &Cancel::default(), |_| {}).unwrap_or_else(|fault| panic!("f{nth}: {fault}"));
        assert!(found.forks <= 200, "f{nth}: {} forks", found.forks);
        let is_first = found.verdict == WhereDecided::Found
            && found.culprit.as_ref().is_some_and(|step| step.path == "root/step:cause");
        first += usize::from(is_first);
        if !is_first {
            others.push((nth, found.verdict, found.culprit.map(|step| step.path)));
        }
    }
    assert!(first * 10 >= FLOWS * 9, "{first} of {FLOWS}; not: {others:?}");
}

fn culprit(place: &Place, request: &str) -> Value {
    let found = place.run(&["--json", "culprit", request, "--fails", FAILS]);
    assert_eq!(found.code, Some(0), "{found}");
    found.json()
}

/// It was taken for a flow that always does the same, and one fork a step named a step that decides nothing.
#[test]
fn a_step_that_reads_the_clock_is_sampled_and_found() {
    let flow = flow("odd", 5, 2, &handler("Date.now() % 10 < 3"), "0");
    let place = Place::new().file("flows/odd.ts", &flow);
    let request = failing(&open(&place), "odd");
    let found = culprit(&place, &request);
    assert_eq!(found["culprit"]["path"], "root/step:cause", "{found}");
    assert!(found["forks"].as_u64() > Some(5), "{found}");
    assert!(!found["notes"].to_string().contains("one fork a step is enough"), "{found}");
}

/// The deterministic note stood beside "no fork could be judged".
#[test]
fn forks_that_wait_for_an_approval_are_named() {
    let flow = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const pay = handler({ name: "pay", inputSchema: any, outputSchema: any, execute: async (i, ctx) => {
  await ctx.suspend({ reason: "approval", message: "Pay?" });
  return i;
} });
const last = handler({ name: "last", inputSchema: any, outputSchema: any, execute: () => { throw new Error("wrong"); } });
export default defineFlow({ kind: "pay", actions: { go: { inputSchema: any, block: sequencer({ name: "all", inputSchema: any }).step(pay).step(last) } } });
"#;
    let place = Place::new().file("flows/pay.ts", flow);
    assert_eq!(place.ask("run pay go --user ada --request r --input 1").code, Some(4));
    assert_eq!(place.ask("resume r --approve").code, Some(3));
    let found = culprit(&place, "r");
    assert_eq!(found["verdict"], "not_enough_samples", "{found}");
    let notes = found["notes"].to_string();
    assert!(notes.contains("wait for an answer") && !notes.contains("one fork a step is enough"), "{found}");
}
