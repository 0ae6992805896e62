//! A request that failed after questions, was resumed and answered otherwise: a replay makes the newest round of it and
//! finds it identical, in whichever order branches failed, waited and were answered (SEMANTICS §10.7).

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const asked = async (name: string, ctx: any) =>
  ctx.suspend({ reason: "human_input", message: name, resumeSchema: z.any(), allow: ["submit", "reject"] });
const ask = (name: string, more = {}) => handler({ name, ...more, execute: async (_input: any, ctx: any) => ({ [name]: await asked(name, ctx) }) });
const boom = (name: string) => handler({ name, execute: () => { throw new Error(name); } });
const ok = (name: string) => handler({ name, execute: () => name });
const chain = (name: string, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const limit = { maxConcurrency: 1 };
const [x, y, b] = [ask("x"), ask("y"), boom("b")];
const audit = ok("audit");
const gate = handler({ name: "gate", execute: async (_input: any, ctx: any) => {
  try {
    return await asked("x", ctx);
  } catch (error) {
    await audit.run({}, ctx);
    throw error;
  }
} });
const counts = handler({ name: "counts", execute: async (_input: any, ctx: any) => { await ctx.request.incState({ n: 1 }); return "counts"; } });
const looks = handler({ name: "looks", execute: async (_input: any, ctx: any) => { await asked("x", ctx); return ctx.request.state.n; } });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ n: z.number().default(0) }), onStepErrored: ok("told"), onErrored: ok("errored"), onFinished: handler({ name: "finished", execute: (input: any) => input }) },
  actions: {
    any: { block: chain("top").stepAny([x, b]), onErrored: ok("sorry") },
    later: { block: chain("top").stepAny([boom("a"), x, b]) },
    chains: { block: chain("top").stepAny([chain("asking").step(ok("first")).step(x), chain("failing").step(ok("second")).step(b)]) },
    nested: { block: chain("top").stepAny([chain("inner").stepAny([x, boom("a")]), b]) },
    rescued: { block: chain("top", { rescue: [{ block: boom("h") }] }).stepAny([x, b]) },
    race: { block: chain("top").race([x, b]) },
    racing: { block: chain("top").race([b, x, y]) },
    narrowRace: { block: chain("top").race([x, b], limit) },
    parallel: { block: chain("top").parallel({ x, y }) },
    failing: { block: chain("top").parallel({ x, b }) },
    narrow: { block: chain("top").parallel({ x, ok: ok("ok"), last: ok("last") }, limit) },
    narrowState: { block: chain("top").parallel({ looks, counts }, limit) },
    each: { block: chain("top").map(() => [1, 2, 3]).forEach(chain("one").step(ok("first")).step(x)) },
    narrowEach: { block: chain("top").map(() => [1, 2, 3]).forEach(x, limit) },
    worked: { block: chain("top").work(x).waitForWork({ failOnError: true }) },
    gate: { block: chain("top").step(gate) },
  },
});
"#;

/// Answers the newest open question with a message; `x` answers it, `-x` says no. `resume` resumes without an answer.
fn go_on(place: &Place, step: &str) -> Value {
    let line = match step {
        "resume" => "resume r".to_owned(),
        step => {
            let (message, reply) = step.strip_prefix('-').map_or((step, "--submit 1"), |message| (message, "--reject"));
            let all = place.get("suspensions");
            let is_open = |one: &&Value| one["status"] == "pending" && one["message"] == message;
            let open = all.as_array().expect("a list").iter().find(is_open);
            let id = open.unwrap_or_else(|| panic!("{message} is not asked\n{all:#}"))["id"].clone();
            format!("resume r --suspension {} {reply}", id.as_str().expect("a text"))
        }
    };
    place.ask(&line).json()
}

/// Runs an action, and takes these steps. A replay must be identical after each of them. Returns the last answer.
#[track_caller]
fn played(action: &str, steps: &[&str]) -> (Place, Value) {
    let place = Place::with_flow(FLOW);
    let mut last = place.ask(&format!("run main {action} --user ada --session s --request r --input 1")).json();
    for at in 0..=steps.len() {
        if let Some(step) = at.checked_sub(1).map(|at| steps[at]) {
            last = go_on(&place, step);
        }
        let replay = place.ask("replay r").json();
        assert_eq!(replay["identical"], true, "{action} after {:?}: {replay:#}\n{last:#}", &steps[..at]);
    }
    assert_eq!(place.ask("check --data").json()["ok"], true, "{action} {steps:?}");
    (place, last)
}

#[track_caller]
fn completes(action: &str, steps: &[&str], output: Value) {
    let (place, last) = played(action, steps);
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &output), "{action} {steps:?}: {last:#}");
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(0), "{action} {steps:?}\n{verified}");
}

#[test]
fn branches_behind_one_that_succeeds_in_a_later_round_are_not_run() {
    completes("any", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("any", &["-x", "resume", "-x", "resume", "x"], json!({ "x": 1 }));
    completes("later", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("chains", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("rescued", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("rescued", &["-x", "resume", "-x", "resume", "x"], json!({ "x": 1 }));
    completes("worked", &["-x", "resume", "x"], json!(1));
}

#[test]
fn a_choice_in_a_choice_is_made_again() {
    completes("nested", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("nested", &["-x", "resume", "-x", "resume", "x"], json!({ "x": 1 }));
}

#[test]
fn a_round_that_waits_is_that_of_the_log() {
    let (_, last) = played("any", &["-x", "resume"]);
    assert_eq!(last["status"], "suspended", "{last:#}");
    let (_, last) = played("any", &["-x", "resume", "-x"]);
    assert_eq!(last["status"], "failed", "{last:#}");
}

#[test]
fn a_race_asks_again_after_all_its_branches_failed() {
    completes("race", &["-x", "resume", "x"], json!({ "x": 1 }));
    completes("racing", &["-x", "y"], json!({ "y": 1 }));
    completes("racing", &["-x", "-y", "resume", "x"], json!({ "x": 1 }));
    completes("narrowRace", &["x"], json!({ "x": 1 }));
    completes("narrowRace", &["-x", "resume", "x"], json!({ "x": 1 }));
}

#[test]
fn branches_that_wait_let_the_next_begin_in_a_replay_too() {
    completes("narrow", &["x"], json!({ "x": { "x": 1 }, "ok": "ok", "last": "last" }));
    completes("narrow", &["-x", "resume", "x"], json!({ "x": { "x": 1 }, "ok": "ok", "last": "last" }));
    completes("narrowState", &["x"], json!({ "looks": 1, "counts": "counts" }));
    let (_, last) = played("narrow", &["-x"]);
    assert_eq!(last["status"], "failed", "{last:#}");
}

#[test]
fn siblings_that_wait_are_answered_in_any_order() {
    for steps in [["x", "y"], ["y", "x"]] {
        completes("parallel", &steps, json!({ "x": { "x": 1 }, "y": { "y": 1 } }));
    }
    completes("parallel", &["-x", "resume", "y", "x"], json!({ "x": { "x": 1 }, "y": { "y": 1 } }));
    completes("each", &["x", "x", "x"], json!([{ "x": 1 }, { "x": 1 }, { "x": 1 }]));
    completes("each", &["x", "-x", "resume", "x", "x"], json!([{ "x": 1 }, { "x": 1 }, { "x": 1 }]));
    completes("narrowEach", &["x", "x", "x"], json!([{ "x": 1 }, { "x": 1 }, { "x": 1 }]));
    let (_, last) = played("failing", &["resume", "resume"]);
    assert_eq!(last["status"], "failed", "{last:#}");
}

#[test]
fn what_a_function_ran_before_it_failed_may_not_run_again() {
    completes("gate", &["-x", "resume", "x"], json!(1));
}

#[test]
fn the_hooks_of_an_end_are_told_of_the_next_one() {
    let (place, _) = played("any", &["-x", "resume", "x"]);
    let told = place.get("block r request.onFinished:finished");
    assert_eq!(told["input"], json!({ "status": "completed" }), "{told:#}");
    let drift = place.get("events r --kind drift");
    assert_eq!(drift, json!([]));
}
