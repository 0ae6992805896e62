//! A question can be answered while its request runs: another process gives the answer, and the block that asked goes
//! on before its slowest sibling ends.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::going::Going;

const FLOW: &str = r#"
const ask = (name: string) => handler({ name, inputSchema: z.any(), execute: async (_input: any, ctx: any) => {
  await ctx.session.pushState("log", "asked");
  const answer: any = await ctx.suspend({ reason: "approval", message: "Pay?", allow: ["approve", "reject", "submit"] });
  await ctx.session.pushState("log", "answered");
  return answer ?? "yes";
} });
const clock = (ms: number) => handler({ name: "clock", inputSchema: z.any(), execute: async () => { await new Promise((done) => setTimeout(done, ms)); return "clock"; } });
const after = handler({ name: "after", inputSchema: z.any(), execute: (input: any) => `after ${input}` });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const asks = ask("asks");
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: {
    race: { block: chain("racing").race([asks, clock(3000)]) },
    late: { block: chain("racing").race([asks, clock(300)]) },
    parallel: { block: chain("both").parallel({ person: chain("arm").step(asks).step(after), clock: clock(3000) }) },
    called: { block: handler({ name: "caller", inputSchema: z.any(), execute: async (_input: any, ctx: any) => (await Promise.all([asks.run(1, ctx), clock(3000).run(1, ctx)])).join() }) },
    background: { block: chain("leaves").work(asks).step(clock(3000)) },
    limited: { block: chain("each").forEach(chain("one").step(handler({ name: "choose", inputSchema: z.any(), execute: async (n: number, ctx: any) => n === 0 ? await asks.run(n, ctx) : await clock(1500).run(n, ctx) })), { maxConcurrency: 2 }).map((all: any) => all.join()) },
  },
});
"#;

fn begun(action: &str) -> (Place, Going) {
    let place = Place::with_flow(FLOW);
    let going = place.start(&format!("run main {action} --user ada --session s --request r --input [0,1,2]"));
    place.until("it asks", |place| {
        let asked = place.ask("suspensions --session s");
        (asked.code == Some(0) && asked.json()[0]["status"] == "pending").then_some(())
    });
    (place, going)
}

#[track_caller]
fn is_sound(place: &Place) {
    assert_eq!(place.get("check --data")["ok"], true);
    let replay = place.ask("replay r");
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{replay}");
    assert_eq!(place.get("suspensions --session s")[0]["status"], "approved");
}

/// The seq of the first event of this kind at a path.
fn seq_of(place: &Place, kind: &str, path: &str) -> u64 {
    let events = place.get(&format!("events r --kind {kind}"));
    let found = events.as_array().expect("a list").iter().find(|event| event["path"] == path);
    found.and_then(|event| event["seq"].as_u64()).unwrap_or_else(|| panic!("no {kind} of {path}: {events}"))
}

#[track_caller]
fn answered_while_it_runs(action: &str, output: Value) -> Place {
    let (place, going) = begun(action);
    let answer = place.get("resume r --approve");
    assert_eq!(answer["status"], "in_progress", "{answer}");
    let ended = going.ended();
    assert_eq!((ended.code, &ended.json()["output"]), (Some(0), &output), "{ended}");
    is_sound(&place);
    assert_eq!(place.get("state --session s")["session"]["log"], json!(["asked", "answered"]));
    place
}

#[test]
fn a_person_wins_a_race_against_a_clock() {
    answered_while_it_runs("race", json!("yes"));
}

#[test]
fn an_answered_branch_goes_on_before_its_slowest_sibling_ends() {
    let place = answered_while_it_runs("parallel", json!({ "person": "after yes", "clock": "clock" }));
    let after = seq_of(&place, "block_finished", "root/parallel/person/step:after");
    assert!(after < seq_of(&place, "block_finished", "root/parallel/clock"));
}

#[test]
fn a_block_that_a_function_called_is_answered() {
    answered_while_it_runs("called", json!("yes,clock"));
}

#[test]
fn background_work_is_answered() {
    answered_while_it_runs("background", json!("clock"));
}

/// A limit of branches does not wait for people, so the block suspends: whoever answers waits until the request has
/// stopped, and goes on with it.
#[test]
fn a_question_of_a_limited_fan_out_is_answered_when_the_request_has_stopped() {
    let (place, going) = begun("limited");
    let answer = place.get("resume r --approve");
    assert_eq!((&answer["status"], &answer["output"]), (&json!("completed"), &json!("yes,clock,clock")), "{answer}");
    assert_eq!(going.ended().code, Some(4));
    is_sound(&place);
}

/// The clock has won: the question is over.
/// Who waits with an answer until the request has stopped may think better of it: the question waits as before.
#[test]
fn an_answer_that_waits_is_withdrawn_by_a_signal() {
    let (place, going) = begun("limited");
    let mut answering = place.start("resume r --approve");
    answering.until_it_says("waiting for that");
    answering.signal("INT");
    let answered = answering.ended();
    assert_eq!(answered.code, Some(7), "{answered}");
    assert!(answered.stderr.contains("was withdrawn"), "{answered}");
    assert_eq!(going.ended().code, Some(4));
    assert_eq!(place.get("suspensions --session s")[0]["status"], "pending");
}

#[test]
fn an_answer_after_the_race_is_refused() {
    let (place, going) = begun("late");
    let ended = going.ended();
    assert_eq!((ended.code, &ended.json()["output"]), (Some(0), &json!("clock")), "{ended}");
    assert_eq!(place.ask("resume r --approve").code, Some(7));
    assert_eq!(place.get("suspensions --session s")[0]["status"], "expired");
}

/// The answer is in the log: it is not asked for again.
#[test]
fn an_answer_survives_the_process_that_took_it() {
    let (place, going) = begun("parallel");
    place.get("resume r --approve");
    going.kill();
    let resumed = place.get("resume r");
    assert_eq!(resumed["output"], json!({ "person": "after yes", "clock": "clock" }), "{resumed}");
    is_sound(&place);
}

/// Without an answer the request waits as it always did.
#[test]
fn an_unanswered_question_suspends_the_request_when_nothing_else_runs() {
    let (place, going) = begun("parallel");
    assert_eq!(going.ended().code, Some(4));
    assert_eq!(place.get("show r")["request"]["status"], "suspended");
    assert_eq!(place.get("state --session s")["session"]["log"], json!([]));
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"], json!({ "person": "after yes", "clock": "clock" }), "{resumed}");
    is_sound(&place);
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_the_question_stays() {
    let (place, going) = begun("race");
    let skipped = place.ask("resume r --skip");
    assert_eq!(skipped.code, Some(7), "{skipped}");
    assert!(skipped.stderr.contains("does not take \"skip\""), "{skipped}");
    let other = place.ask("resume r --approve --suspension susp_0000000000000000");
    assert_ne!(other.code, Some(0), "{other}");
    place.get("resume r --approve \"by_hand\"");
    let again = place.ask("resume r --reject");
    assert_eq!(again.code, Some(7), "{again}");
    let ended = going.ended();
    assert_eq!(ended.json()["output"], "by_hand", "{ended}");
    is_sound(&place);
}

const TURN: &str = r#"
const pay = handler({ name: "pay", approval: { required: true }, inputSchema: z.object({ amount: z.number().max(100), to: z.string().default("bob") }), execute: async (call: any) => call });
const slow = handler({ name: "slow", inputSchema: z.object({}), execute: async () => { await new Promise((done) => setTimeout(done, 3000)); return "slow"; } });
const turn = generator({ name: "turn", model: "m", prompt: "p", user: () => "u", tools: [pay, slow] });
export default defineFlow({ kind: "main", actions: { run: { block: turn } } });
"#;

/// A turn in which a tool waits for a person while another one works: the answer is taken where the tool waits.
#[test]
fn a_tool_of_a_turn_is_answered_while_another_one_works() {
    let calls = json!([
        { "name": "pay", "args": { "amount": 50, "to": "al" } }, { "name": "slow", "args": {} }
    ]);
    let mock = json!({ "generators": { "turn": [{ "toolCalls": calls }, { "text": "done" }] } });
    let place = Place::with_flow(TURN).file("flows/main.mock.json", &mock.to_string());
    let going = place.start("run main run --user ada --session s --request r --mock");
    place.until("it asks", |place| {
        let asked = place.ask("suspensions --session s");
        (asked.code == Some(0) && asked.json()[0]["status"] == "pending").then_some(())
    });
    for (answer, why) in [
        (r#"{"amount":7,"to":"al","too":1}"#, "too: is not an argument; it takes amount, to"),
        (r#"{"amount":500,"to":"al"}"#, "amount: 500 is greater than the maximum of 100"),
    ] {
        let refused = place.run(&["resume", "r", "--approve", answer]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
    }
    let answered = place.run(&["resume", "r", "--approve", r#"{"amount":5}"#, "--json"]);
    assert_eq!(answered.code, Some(0), "{answered}");
    assert!(answered.stderr.contains(r#"to falls back to "bob", where the call has "al""#), "{answered}");
    assert_eq!(place.get("show r")["request"]["status"], "in_progress", "the other tool works still");
    assert_eq!(going.ended().json()["output"], "done");
    assert_eq!(place.get("block r root/tool:pay[0.0]")["output"], json!({ "amount": 5, "to": "bob" }));
    let items = place.get("items --request r --type block_tool_output").to_string();
    assert!(items.contains("proposedArguments"), "{items}");
    is_sound(&place);
}
