//! Requests that failed after their tries had run out, and were resumed: what counts of them, at every instant.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const state = z.object({ n: z.number().default(0) });
const retry = { maxAttempts: 2, baseDelayMs: 1 };
const chain = (name, more = {}) => sequencer({ name, inputSchema: z.any(), stateSchema: state, ...more });
const writes = async (ctx) => { await ctx.request.incState({ n: 1 }); await ctx.sequencer?.incState({ n: 1 }); };
const count = handler({ name: "count", execute: async (input, ctx) => { await writes(ctx); return input; } });
const gate = handler({ name: "gate", execute: async (input, ctx) => {
  await writes(ctx);
  if (!ctx.user.state.ok) throw new Error("closed");
  return input;
} });
const tries = handler({ name: "tries", retry, execute: async (_input, ctx) => {
  ctx.emit.message("try " + ctx.attempt);
  if (!ctx.user.state.ok) throw new Error("closed");
  return ctx.attempt;
} });
const slow = handler({ name: "slow", execute: async (_input, ctx) => {
  for (let i = 0; i < 5; i++) await ctx.runOnce("k" + i, async () => i);
  await new Promise((done) => setTimeout(done, ctx.attempt === 0 && !ctx.user.state.ok ? 60000 : 1));
} });
export default defineFlow({
  kind: "main",
  request: { stateSchema: state },
  user: { stateSchema: z.object({ ok: z.boolean().default(false) }) },
  actions: {
    chain: { block: chain("top").step(chain("tried", { retry }).step(count).step(gate)).map((_v, ctx) => ctx.request.state.n) },
    handler: { block: chain("top").step(tries) },
    once: { block: chain("top").step(count).step(chain("in").step(count).step(gate)) },
    slow: { block: chain("top").step(slow) },
    ok: { block: handler({ name: "ok", execute: async (_input, ctx) => { await ctx.user.patchState({ ok: true }); } }) },
  },
});
"#;

/// Runs an action that fails, and resumes it once its gate is open.
fn failed_and_resumed(action: &str) -> Place {
    let place = Place::with_flow(FLOW);
    let failed = place.ask(&format!("run main {action} --user ada --session s --request r --input 1"));
    assert_eq!(failed.code, Some(3), "{failed}");
    place.get("run main ok --user ada --session t");
    let resumed = place.ask("resume r");
    assert_eq!(resumed.code, Some(0), "{resumed}");
    place
}

/// The event of a request with a kind and a path that comes first after another one.
fn first_after(events: &[Value], seq: u64, kind: &str, path: &str) -> u64 {
    let is_it = |event: &&Value| {
        event["seq"].as_u64() > Some(seq) && event["kind"] == kind && event["path"].as_str().unwrap_or_default() == path
    };
    events.iter().find(is_it).and_then(|event| event["seq"].as_u64()).expect("an event")
}

/// A real try of the chain went with the failure that the resume ran again.
#[test]
fn a_chain_whose_tries_ran_out_replays_as_it_ran() {
    let place = failed_and_resumed("chain");
    assert_eq!(place.get("show r")["output"], 4);
    let replay = place.get("replay r");
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// The tries of a handler are counted anew after the resume, and so they are in its replay.
#[test]
fn a_handler_whose_tries_ran_out_replays_as_it_ran() {
    let place = failed_and_resumed("handler");
    assert_eq!(place.get("show r")["output"], 0);
    let replay = place.get("replay r");
    assert_eq!(replay["identical"], true, "{replay:#}");
}

/// Until the block that had failed began again, its writes were shown as if they counted.
#[test]
fn what_failed_counts_no_more_from_the_resume_on() {
    let place = failed_and_resumed("once");
    let events = place.get("events r").as_array().cloned().expect("a list");
    let resumed = first_after(&events, 0, "request_resumed", "");
    let begins = first_after(&events, resumed, "block_started", "root/step:in/step:gate");
    for seq in resumed - 1..=begins {
        let state = place.get(&format!("state --request r --at {seq}"));
        let counted = if seq < resumed { (3, 2) } else { (2, 1) };
        let inner = &state["sequencers"]["r:root/step:in:0"]["n"];
        assert_eq!((&state["request"]["n"], inner), (&json!(counted.0), &json!(counted.1)), "at {seq}: {state:#}");
    }
    assert_eq!(place.get("state --request r")["request"]["n"], 3);
    assert_eq!(place.get("check --data")["ok"], true);
}

/// There was one of each for every run of the chain.
#[test]
fn a_chain_that_went_on_has_one_state_and_one_end() {
    let place = failed_and_resumed("once");
    for item_type in ["state_snapshot", "block_output"] {
        let found = place.get(&format!("items --request r --type {item_type}"));
        let all = found.as_array().expect("a list").iter();
        let of_inner = all.filter(|item| item["provenance"]["path"] == "root/step:in").count();
        assert_eq!(of_inner, 1, "{found:#}");
    }
    let shown = place.get("block r root/step:in");
    let ends: Vec<&Value> = shown["items"].as_array().expect("a list").iter().map(|item| &item["status"]).collect();
    assert_eq!(ends, ["completed", "completed"], "{shown:#}");
}

/// The checkpoints and the states that a fork shares had the ids of the other request.
#[test]
fn the_checkpoints_of_a_fork_are_its_own() {
    let place = failed_and_resumed("once");
    let fork = place.get("fork r --at root/step:in")["requestId"].as_str().expect("an id").to_owned();
    let checkpoints = place.get(&format!("checkpoints {fork}"));
    let ids: Vec<&Value> =
        checkpoints.as_array().expect("a list").iter().map(|checkpoint| &checkpoint["blockInstanceId"]).collect();
    assert_eq!(ids, [&json!(format!("{fork}:root:0")), &json!(format!("{fork}:root/step:in:0"))], "{checkpoints:#}");
    let snapshots = place.get(&format!("items --request {fork} --type state_snapshot"));
    for item in snapshots.as_array().expect("a list") {
        assert_eq!(item["blockInstanceId"], item["provenance"]["blockInstanceId"], "{item:#}");
        assert_eq!(item["key"], item["blockInstanceId"], "{item:#}");
    }
}

/// A handler that only waited and ran things once was shown as if it had died when it began.
#[test]
fn a_handler_that_was_killed_ran_until_its_last_event() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main slow --user ada --session s --request r --input 1");
    place.until("that it pauses", |place| {
        let begun = place.ask("events r --kind effect_started");
        (begun.code == Some(0) && begun.json().as_array().is_some_and(|all| all.len() >= 5)).then_some(())
    });
    going.kill();
    place.get("run main ok --user ada --session t");
    assert_eq!(place.ask("resume r").code, Some(0));
    let events = place.get("events r").as_array().cloned().expect("a list");
    let resumed = first_after(&events, 0, "request_resumed", "");
    let before = events.iter().take_while(|event| event["seq"].as_u64() < Some(resumed));
    let last = before.filter(|event| event["path"].is_string()).last().expect("an event");
    let chain = place.get("block r root")["block"].clone();
    assert_eq!(chain["gaps"][0]["from"], last["at"], "{chain:#}");
    let shown = place.get("show r");
    let is_cut = |block: &&Value| block["path"] == "root/step:slow" && block["attempt"] == 0;
    let cut = shown["blocks"].as_array().expect("a list").iter().find(is_cut).expect("it began");
    let ran = last["at"].as_i64().expect("a time") - cut["startedAt"].as_i64().expect("a time");
    assert_eq!(cut["cutMs"], ran, "{cut:#}");
}
