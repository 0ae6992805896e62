//! What a request's shared memory was at an instant: what finished blocks wrote, and nothing else, in every
//! view; and a replay that starts from what the blocks that count saw.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::bench::{Place, program};

/// `a` adds 1; `ask` adds 10 and waits for an answer; `hang` adds 10 and does not come back.
const FLOW: &str = r#"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const stateSchema = z.object({ n: z.number().default(0), name: z.string().default("x") });
const chain = (name) => sequencer({ name, inputSchema: z.any(), stateSchema });
const add = async (ctx, n) => { await ctx.request.incState({ n }); await ctx.sequencer.incState({ n }); };
const a = handler({ name: "a", execute: async (input, ctx) => { await add(ctx, 1); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => { await add(ctx, 10); await ctx.suspend({ reason: "approval", message: "go?" }); return input; } });
const hang = handler({ name: "hang", execute: async (_input, ctx) => { await add(ctx, 10); await pause(600_000); } });
const other = handler({ name: "other", execute: async (_input, ctx) => { await pause(60); await add(ctx, 100); await pause(30); return [ctx.request.state.n, ctx.sequencer.state.n]; } });
const flaky = handler({ name: "flaky", retry: { maxAttempts: 2, baseDelayMs: 1 }, execute: async (_input, ctx) => { await add(ctx, 10); if (ctx.attempt < 1) throw new Error("again"); return ctx.request.state.n; } });
const weak = handler({ name: "weak", execute: async (_input, ctx) => {
  await ctx.session.incState({ n: 1 });
  if (!ctx.session.state.fixed) throw new Error("weak");
  return ctx.session.state.n;
} });
const amount = handler({ name: "amount", execute: async (input, ctx) => { await add(ctx, 1); await ctx.session.incState({ n: 1 }); return { eur: input, at: Date.now() }; } });
const pay = handler({ name: "pay", execute: async (input, ctx) => { await pause(2); await ctx.session.incState({ n: input.eur }); return [input.eur, Date.now(), ctx.session.state.n, ctx.request.state.n]; } });
const slow = handler({ name: "slow", execute: async (_input, ctx) => { const saw = ctx.user.state.n; await pause(300); await ctx.user.atomicState((now) => ({ n: now.n + 1 })); return [saw, ctx.user.state.n]; } });
const breaks = handler({ name: "breaks", execute: () => { throw new FlowError("no", { code: "no" }); } });
const told = handler({ name: "told", execute: () => "told" });
export default defineFlow({
  kind: "main",
  request: { stateSchema },
  session: { stateSchema: z.object({ n: z.number().default(0), fixed: z.boolean().default(false) }) },
  user: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    asks: { block: chain("root").step(a).step(ask) },
    hangs: { block: chain("root").step(a).step(hang) },
    maps: { block: chain("root").tap((_value, ctx) => add(ctx, 1)).step(ask) },
    both: { block: chain("root").parallel({ ask, other }) },
    retries: { block: chain("root").step(a).step(flaky) },
    weak: { block: chain("root").step(a).step(weak).step(pay.rescue([{ block: told }])) },
    fix: { block: handler({ name: "fix", execute: async (_input, ctx) => { await ctx.session.patchState({ fixed: true }); } }) },
    pays: { block: chain("root").step(chain("inner").step(amount).step(pay)).step(ask) },
    slow: { block: chain("root").step(slow) },
    hasty: { block: handler({ name: "hasty", execute: async (_input, ctx) => { await ctx.user.incState({ n: 10 }); } }) },
    catches: { block: chain("root")
      .step(breaks.rescue([{ block: told }]))
      .step(chain("outer").step(chain("inner").step(breaks)).rescue([{ block: told }]))
      .stepAny([breaks, told]).race([breaks, told]).work(breaks).waitForWork().stepAny([breaks, breaks]) },
  },
});
"#;

#[track_caller]
fn run(place: &Place, action: &str, request: &str) -> Value {
    place.ask(&format!("run main {action} --user ada --session s{request} --request {request} --input 3")).json()
}

/// What every view says of the number.
#[track_caller]
fn assert_everywhere(place: &Place, request: &str, n: i64, writes: Value) {
    let view = place.get(&format!("state --request {request}"));
    assert_eq!(view["request"], json!({ "n": n, "name": "x" }), "{view}");
    let points = place.get(&format!("checkpoints {request}"));
    let points = points.as_array().expect("a list");
    assert_eq!(points.len(), 1, "{points:?}");
    assert_eq!(points[0]["state"], json!({ "n": n, "name": "x" }));
    let instance = points[0]["blockInstanceId"].as_str().expect("it has an id");
    assert_eq!(view["sequencers"][instance], json!({ "n": n, "name": "x" }), "{view}");
    let diff = place.get(&format!("diff {request}"));
    let of = |scope: &str| {
        let mut all = diff.as_array().expect("a list").iter().filter(|change| change["scope"] == scope);
        all.rfind(|change| change["path"] == "n").cloned().unwrap_or_default()
    };
    assert_eq!((&of("request")["new"], &of("sequencer")["new"]), (&json!(n), &json!(n)), "{diff}");
    for scope in ["request", "sequencer"] {
        let history = place.get(&format!("history {request} --path {scope}.n"));
        let told: Vec<Value> = history
            .as_array()
            .expect("a list")
            .iter()
            .map(|write| json!([write["by"], write["old"], write["new"]]))
            .collect();
        assert_eq!(Value::from(told), writes, "{scope}");
        let items = place.get(&format!("items --request {request} --type state_change"));
        let items = items.as_array().expect("a list").iter().filter(|item| item["scope"] == scope);
        let values: Vec<&Value> = items.map(|item| &item["value"]["n"]).collect();
        let news: Vec<&Value> = writes.as_array().expect("a list").iter().map(|write| &write[2]).collect();
        assert_eq!(values, news, "{scope}");
    }
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], true, "{checked}");
}

#[track_caller]
fn assert_identical(place: &Place, request: &str) {
    let replayed = place.ask(&format!("replay {request}")).json();
    assert_eq!(replayed["identical"], true, "replay {request}: {replayed}");
}

fn start(place: &Place, action: &str, request: &str) -> Child {
    Command::new(program())
        .args(["run", "main", action, "--user", "ada", "--session", &format!("s{request}"), "--request", request])
        .args(["--input", "3"])
        .current_dir(place.dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Waits until the newest state of a request's number is this.
#[track_caller]
fn until(place: &Place, request: &str, n: i64) {
    let began = Instant::now();
    loop {
        let answer = place.ask(&format!("state --request {request}"));
        if answer.code == Some(0) && answer.json()["request"]["n"] == n {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{answer}");
    }
}

#[test]
fn a_step_that_waits_has_written_nothing() {
    let place = Place::with_flow(FLOW);
    for (action, by) in [("asks", "root/step:a"), ("maps", "root")] {
        assert_eq!(run(&place, action, action)["status"], "suspended");
        assert_everywhere(&place, action, 1, json!([[by, 0, 1]]));
        let resumed = place.get(&format!("resume {action} --approve"));
        assert_eq!(resumed["status"], "completed");
        assert_everywhere(&place, action, 11, json!([[by, 0, 1], ["root/step:ask", 1, 11]]));
        assert_identical(&place, action);
    }
    // Where the block first finished, not where the resume took it from the log.
    let at = place.get("state --request asks --at root/step:a");
    let first = place.get("events asks --kind block_finished");
    assert_eq!((&at["seq"], &at["request"]["n"]), (&first[0]["seq"], &json!(1)));
}

#[test]
fn a_step_whose_process_died_has_written_nothing() {
    let place = Place::with_flow(FLOW);
    let mut child = start(&place, "hangs", "r");
    until(&place, "r", 11);
    let points = place.get("checkpoints r");
    assert_eq!(points[0]["state"]["n"], 1, "a checkpoint is of finished blocks, while others run too: {points}");
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    assert_everywhere(&place, "r", 1, json!([["root/step:a", 0, 1]]));
    assert_identical(&place, "r");
}

#[test]
fn what_runs_beside_it_does_not_see_it_either() {
    let place = Place::with_flow(FLOW);
    assert_eq!(run(&place, "both", "r")["status"], "suspended");
    let by = "root/parallel/other";
    assert_everywhere(&place, "r", 100, json!([[by, 0, 100]]));
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"]["other"], json!([100, 100]), "{resumed}");
    assert_everywhere(&place, "r", 110, json!([[by, 0, 100], ["root/parallel/ask", 100, 110]]));
    assert_identical(&place, "r");
}

#[test]
fn a_try_that_is_repeated_has_written_nothing() {
    let place = Place::with_flow(FLOW);
    assert_eq!(run(&place, "retries", "r")["output"], 11);
    assert_everywhere(&place, "r", 11, json!([["root/step:a", 0, 1], ["root/step:flaky", 1, 11]]));
    assert_identical(&place, "r");
}

#[test]
fn what_failed_and_was_resumed_replays_from_what_the_second_try_saw() {
    let place = Place::with_flow(FLOW);
    assert_eq!(run(&place, "weak", "r")["status"], "failed");
    assert_identical(&place, "r");
    place.get("run main fix --user ada --session sr");
    let resumed = place.get("resume r");
    assert_eq!(resumed["status"], "completed");
    assert_eq!(place.get("state --session sr")["session"]["n"], 2, "a failure keeps its writes");
    assert_identical(&place, "r");
}

#[test]
fn what_another_overtook_replays_from_what_the_counting_try_saw() {
    let place = Place::with_flow(FLOW);
    let mut child = start(&place, "slow", "r");
    let began = Instant::now();
    while place.ask("events r --kind effect_started").stdout.len() < 4 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    place.get("run main hasty --user ada");
    child.wait().expect("it ended");
    assert_eq!(place.get("state --user ada")["user"]["n"], 11);
    assert_identical(&place, "r");
}

#[test]
fn forks_replay_as_they_ran() {
    let place = Place::with_flow(FLOW);
    run(&place, "pays", "r");
    place.get("resume r --approve");
    for edit in [r#"--output {"eur":50}"#, "--input 4", "--set session.n=7", "--set request.n=7", ""] {
        let at = "root/step:inner/step:amount";
        let fork = place.ask(&format!("fork r --at {at} {edit}")).json();
        let id = fork["requestId"].as_str().unwrap_or_else(|| panic!("{edit}: {fork}"));
        assert_identical(&place, id);
        if fork["status"] == "suspended" {
            place.get(&format!("resume {id} --approve"));
            assert_identical(&place, id);
        }
    }
}

#[test]
fn who_caught_a_failure_is_told_with_it() {
    let place = Place::with_flow(FLOW);
    assert_eq!(run(&place, "catches", "r")["status"], "failed");
    let ends = place.get("events r --kind block_finished");
    let told: Vec<Value> = ends
        .as_array()
        .expect("a list")
        .iter()
        .filter(|end| end["payload"]["outcome"] == "failed")
        .map(|end| json!([end["path"], end["payload"]["caught"]]))
        .collect();
    let expected = json!([
        ["root/step:breaks", "rescue"],
        ["root/step:outer/step:inner/step:breaks", "rescue"],
        ["root/step:outer/step:inner", "rescue"],
        ["root/stepAny[0]", "step_any"],
        ["root/race[0]", "race"],
        ["root/work:breaks", "background"],
        ["root/stepAny~2[0]", "step_any"],
        ["root/stepAny~2[1]", null],
        ["root", null],
    ]);
    assert_eq!(Value::from(told), expected);
}

/// A chain whose flaky step fails once in every process, so that the chain is tried again; and one that waits.
const AGAIN: &str = r#"
let calls = 0;
const stateSchema = z.object({ n: z.number().default(0) });
const chain = (name, more = {}) => sequencer({ name, inputSchema: z.any(), stateSchema, ...more });
const count = handler({ name: "count", execute: async (input, ctx) => { await ctx.sequencer.incState({ n: 1 }); return input; } });
const own = handler({ name: "own", stateSchema, execute: async (input, ctx) => { await ctx.self.incState({ n: 1 }); return input; } });
const flaky = handler({ name: "flaky", execute: (input) => { if (calls++ === 0) throw new Error("once more"); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => { await ctx.suspend({ reason: "approval", message: "go?" }); return input; } });
export default defineFlow({ kind: "main", actions: {
  tries: { block: chain("root").step(chain("tried", { retry: { maxAttempts: 2, baseDelayMs: 1 } }).step(count).step(own).step(flaky)) },
  asks: { block: chain("root").step(count).step(chain("inner").step(count).step(ask)).step(count) },
} });
"#;

/// The instances that a view has, with their numbers.
#[track_caller]
fn instances(place: &Place, request: &str, at: Option<u64>) -> Value {
    let at = at.map(|seq| format!(" --at {seq}")).unwrap_or_default();
    let view = place.get(&format!("state --request {request}{at}"));
    let found = view["sequencers"].as_object().cloned().unwrap_or_default();
    found.into_iter().map(|(instance, state)| (instance, state["n"].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// The events of a kind: number and path.
fn seqs(place: &Place, request: &str, kind: &str) -> Vec<(u64, String)> {
    let events = place.get(&format!("events {request} --kind {kind}"));
    let of = |event: &Value| (event["seq"].as_u64().unwrap_or(0), event["path"].as_str().unwrap_or("").to_owned());
    events.as_array().expect("a list").iter().map(of).collect()
}

/// What `diff` says: instance, old, new.
#[track_caller]
fn differences(place: &Place, line: &str) -> Value {
    let of = |row: &Value| json!([row["instanceId"], row["old"], row["new"]]);
    let mut rows: Vec<Value> = place.get(line).as_array().expect("a list").iter().map(of).collect();
    rows.sort_by_key(ToString::to_string);
    rows.into()
}

#[test]
fn an_instance_is_there_from_its_beginning_until_the_next_attempt() {
    let place = Place::with_flow(AGAIN);
    assert_eq!(run(&place, "tries", "r")["status"], "completed");
    let [root, first, own, second, ..] = &seqs(&place, "r", "state_initialized")[..] else { panic!("too few") };
    assert_eq!((&*root.1, &*first.1, &*second.1), ("root", "root/step:tried", "root/step:tried"));
    assert_eq!(instances(&place, "r", Some(root.0 - 1)), json!({}));
    assert_eq!(instances(&place, "r", Some(root.0)), json!({ "r:root:0": 0 }));
    assert_eq!(instances(&place, "r", Some(first.0)), json!({ "r:root:0": 0, "r:root/step:tried:0": 0 }));
    let ends = json!({ "r:root:0": 0, "r:root/step:tried:0": 1, "r:root/step:tried/step:own:0": 0 });
    assert_eq!(instances(&place, "r", Some(own.0)), ends);
    let once_more = json!({ "r:root:0": 0, "r:root/step:tried:1": 0, "r:root/step:tried/step:own:0": 1 });
    assert_eq!(instances(&place, "r", Some(second.0)), once_more);
    let last = json!({ "r:root:0": 0, "r:root/step:tried:1": 1, "r:root/step:tried/step:own:1": 1 });
    assert_eq!(instances(&place, "r", None), last);
}

#[test]
fn an_interrupted_instance_goes_on_with_its_state() {
    let place = Place::with_flow(AGAIN);
    assert_eq!(run(&place, "asks", "r")["status"], "suspended");
    let waits = json!({ "r:root:0": 1, "r:root/step:inner:0": 1 });
    assert_eq!(instances(&place, "r", None), waits);
    let asked = place.get("events r").as_array().map_or(0, Vec::len) as u64;
    assert_eq!(place.get("resume r --approve")["status"], "completed");
    let ended = json!({ "r:root:0": 2, "r:root/step:inner:0": 1 });
    assert_eq!(instances(&place, "r", None), ended);
    assert_eq!(instances(&place, "r", Some(asked)), waits, "before the resume it is as it was");
    assert_eq!(instances(&place, "r", Some(asked + 3)), waits, "and so it goes on");
    // The whole request, one part of it, and what the resume added.
    let (root, inner) = ("r:root:0", "r:root/step:inner:0");
    assert_eq!(differences(&place, "diff r"), json!([[inner, null, 1], [root, null, 2]]));
    let until = differences(&place, &format!("diff r --to {asked}"));
    assert_eq!(until, json!([[inner, null, 1], [root, null, 1]]));
    assert_eq!(differences(&place, &format!("diff r --from {asked}")), json!([[root, 1, 2]]));
    assert_identical(&place, "r");
}
