//! Rescues and resumes: a failure that a handler takes is no end of its block, and a handler, or a block that a
//! function has run, is no operation of the chain around it.

use serde_json::{Value, json};
use tests::bench::Place;

/// Fan-outs whose first branch fails and is rescued by a handler that asks or rests, and chains with rescues.
const FLOW: &str = r#"
const pause = (ms: number) => new Promise<void>((done) => { setTimeout(done, ms); });
const answers = (name: string) => handler({ name, inputSchema: z.any(), execute: () => name });
const fails = handler({ name: "fails", inputSchema: z.any(), execute: () => { throw new Error("bad"); } });
const asks = handler({ name: "asks", inputSchema: z.any(), execute: async (_error, ctx) => { await ctx.suspend({ reason: "approval", message: "Again?" }); return "approved"; } });
const rests = handler({ name: "rests", inputSchema: z.any(), execute: async () => { await pause(600_000); return "rescued"; } });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const one = (by) => handler({ name: "one", inputSchema: z.any(), execute: (n) => { if (n === 1) throw new Error("one"); return n; } }).rescue([{ block: by }]);
const arms = (by) => ({ c: fails.rescue([{ block: by }]), d: answers("d"), e: answers("e") });
export default defineFlow({ kind: "main", actions: {
  one: { block: chain("chain").parallel(arms(asks), { maxConcurrency: 1 }) },
  two: { block: chain("chain").parallel({ ...arms(asks), f: answers("f") }, { maxConcurrency: 2 }) },
  each: { block: chain("chain").map(() => [1, 2, 3]).forEach(one(asks), { maxConcurrency: 1 }) },
  rests: { block: chain("chain").parallel(arms(rests), { maxConcurrency: 1 }) },
  inside: { block: chain("chain").step(chain("inner").step(answers("a")).step(fails).rescue([{ block: answers("rescuer") }])).step(answers("b")).step(answers("c")) },
  runs: { block: chain("chain").step(chain("inner").map(async (_value, ctx) => answers("called").run(null, ctx)).step(answers("a"))).step(answers("b")).step(answers("c")) },
} });
"#;

fn memoized(place: &Place, request: &str) -> Vec<Value> {
    let ends = place.get(&format!("events {request} --kind block_finished"));
    let ends = ends.as_array().expect("a list").iter().filter(|event| event["payload"]["memoized"] == true);
    ends.map(|event| event["path"].clone()).collect()
}

#[track_caller]
fn is_sound(place: &Place, request: &str) {
    assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// Once the failure counted as the end of the branch: what had not begun before it was left out, and the request
/// completed without it.
#[test]
fn a_branch_whose_rescue_waits_keeps_no_other_from_its_turn() {
    let place = Place::with_flow(FLOW);
    for (action, output) in [
        ("one", json!({ "c": "approved", "d": "d", "e": "e" })),
        ("two", json!({ "c": "approved", "d": "d", "e": "e", "f": "f" })),
        ("each", json!(["approved", 2, 3])),
    ] {
        let run = place.ask(&format!("run main {action} --user ada --session {action} --request {action}"));
        assert_eq!(run.code, Some(4), "{run}");
        assert_eq!(place.get(&format!("resume {action} --approve"))["output"], output);
        is_sound(&place, action);
    }
}

/// A fork from between the failure and its rescue runs the rescue, and the branches after it.
#[test]
fn a_fork_after_a_failure_runs_its_rescue() {
    let place = Place::with_flow(FLOW);
    place.ask("run main one --user ada --session s --request r");
    let events = place.get("events r");
    let is_failure = |event: &&Value| event["kind"] == "block_finished" && event["payload"]["outcome"] == "failed";
    let failure = events.as_array().expect("a list").iter().find(is_failure).expect("it fails")["seq"].clone();
    let fork = place.ask(&format!("fork r --at {failure}"));
    assert_eq!(fork.code, Some(4), "it asks again: {fork}");
    let fork = fork.json()["requestId"].as_str().expect("an id").to_owned();
    let resumed = place.get(&format!("resume {fork} --approve"));
    assert_eq!(resumed["output"], json!({ "c": "approved", "d": "d", "e": "e" }));
    is_sound(&place, &fork);
}

/// The same with a process that dies while the handler works.
#[test]
fn a_killed_rescue_keeps_no_branch_from_its_turn() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main rests --user ada --session s --request r");
    place.until("the handler works", |place| {
        let events = place.ask("events r --kind block_started");
        events.stdout.contains("rescue:rests").then_some(())
    });
    going.kill();
    place.edit(&FLOW.replace("600_000", "1"));
    assert_eq!(place.get("resume r")["output"], json!({ "c": "rescued", "d": "d", "e": "e" }));
    assert_eq!(place.get("check --data")["ok"], true);
}

/// Once a rescue, or a block that a function ran, counted as an operation that the code has no more, so a fork of
/// unchanged code wrote down all that had ended once more.
#[test]
fn a_fork_refers_to_what_ended_beside_rescues_and_called_blocks() {
    let place = Place::with_flow(FLOW);
    for action in ["inside", "runs"] {
        let ran = place.get(&format!("run main {action} --user ada --session {action} --request {action}"));
        let fork = place.get(&format!("fork {action} --at root/step:b"));
        assert_eq!(fork["output"], ran["output"], "{action}");
        let fork = fork["requestId"].as_str().expect("an id").to_owned();
        assert_eq!(memoized(&place, &fork), Vec::<Value>::new(), "{action}");
        is_sound(&place, &fork);
    }
}
