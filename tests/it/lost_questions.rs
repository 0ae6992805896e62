//! Questions that a function asks and does not wait for to the end: the replay asks them, and goes on without an answer
//! as the recorded run did.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const h = (name: string, execute: any) => handler({ name, inputSchema: z.any(), outputSchema: z.any(), execute });
const s = () => sequencer({ name: "s", inputSchema: z.any() }) as any;
const Q = (ctx: any, message: string) => ctx.suspend({ reason: "human_approval", message });
const sleep = (ms: number, value?: any) => new Promise((done) => setTimeout(done, ms, value));
const given = (ctx: any, message: string) => Q(ctx, message).then(() => message, () => `no ${message}`);
export default defineFlow({ kind: "main", actions: {
  clock: { block: h("x", (_: any, ctx: any) => Promise.race([Q(ctx, "a"), sleep(30, "late")])) },
  floating: { block: h("x", async (_: any, ctx: any) => { void Q(ctx, "a"); await sleep(10); return "done"; }) },
  mapped: { block: s().map((_: any, ctx: any) => Promise.race([Q(ctx, "a"), sleep(10, "late")])) },
  race: { block: h("x", (_: any, ctx: any) => Promise.race([given(ctx, "a"), given(ctx, "b")])) },
  any: { block: h("x", (_: any, ctx: any) => Promise.any([given(ctx, "a"), given(ctx, "b")])) },
  all: { block: h("x", (_: any, ctx: any) => Promise.all([Q(ctx, "a"), Q(ctx, "b")])) },
  mapAll: { block: s().map((_: any, ctx: any) => Promise.all([Q(ctx, "a"), Q(ctx, "b")])) },
  conditionAll: { block: s().stepIf(async (_: any, ctx: any) => (await Promise.all([Q(ctx, "a"), Q(ctx, "b")])).length === 2, h("y", () => 1)) },
  caught: { block: h("x", async (_: any, ctx: any) => {
    const second = Q(ctx, "b");
    try { await Q(ctx, "a"); } catch { return "no"; }
    return second;
  }) },
  turns: { block: h("x", async (_: any, ctx: any) => {
    const seen: string[] = [];
    await Promise.all(["a", "b", "c"].map((name) => given(ctx, name).then((word: string) => seen.push(word))));
    return seen;
  }) },
} });
"#;

fn run(place: &Place, action: &str, code: i32) {
    let ran = place.ask(&format!("run main {action} --user ada --session {action} --request {action} --input 1"));
    assert_eq!(ran.code, Some(code), "{action}: {ran}");
}

/// Answers the open question of a request with a message.
fn answer(place: &Place, request: &str, message: &str, how: &str) -> Option<i32> {
    let all = place.get(&format!("suspensions --session {request}"));
    let is_open = |one: &&Value| one["status"] == "pending" && one["message"] == message;
    let open = all.as_array().expect("a list").iter().find(is_open);
    let id = open.and_then(|one| one["id"].as_str()).unwrap_or_else(|| panic!("{message} is not asked: {all:#}"));
    place.ask(&format!("resume {request} {how} --suspension {id}")).code
}

#[track_caller]
fn is_identical(place: &Place, request: &str) {
    let replay = place.ask(&format!("replay {request}"));
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{request}: {replay}");
}

#[test]
fn a_question_that_loses_to_the_clock_is_replayed() {
    let place = Place::with_flow(FLOW);
    for action in ["clock", "floating", "mapped"] {
        run(&place, action, 0);
        is_identical(&place, action);
    }
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_question_that_loses_to_another_is_replayed() {
    let place = Place::with_flow(FLOW);
    for (action, how) in [("race", "--approve"), ("any", "--approve"), ("caught", "--reject")] {
        run(&place, action, 4);
        is_identical(&place, action);
        assert_eq!(answer(&place, action, "a", how), Some(0), "{action}");
        is_identical(&place, action);
    }
    for action in ["all", "mapAll", "conditionAll"] {
        run(&place, action, 4);
        assert_eq!(answer(&place, action, "a", "--reject"), Some(3), "{action}");
        is_identical(&place, action);
    }
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(0), "{verified}");
}

/// The answers were given in another order than that in which the questions were asked.
#[test]
fn the_answers_to_several_questions_of_one_block_come_in_their_order() {
    let place = Place::with_flow(FLOW);
    run(&place, "turns", 4);
    assert_eq!(answer(&place, "turns", "c", "--approve"), Some(4));
    assert_eq!(answer(&place, "turns", "a", "--reject"), Some(4));
    assert_eq!(answer(&place, "turns", "b", "--approve"), Some(0));
    assert_eq!(place.get("show turns")["output"], json!(["c", "no a", "b"]));
    is_identical(&place, "turns");
}

/// Such a question is something that the block does: code that asks something else differs.
#[test]
fn a_lost_question_that_is_another_one_differs() {
    let place = Place::with_flow(FLOW);
    run(&place, "clock", 0);
    place.edit(&FLOW.replace(r#"Q(ctx, "a"), sleep(30"#, r#"Q(ctx, "other"), sleep(30"#));
    let replay = place.ask("replay clock").json();
    assert_eq!(replay["identical"], false, "{replay:#}");
    assert_eq!(replay["divergence"]["recorded"]["question"]["message"], "a", "{replay:#}");
    assert_eq!(replay["divergence"]["found"]["question"]["message"], "other", "{replay:#}");
    place.edit(&FLOW.replace(r#"[Q(ctx, "a"), sleep(30"#, "[sleep(30"));
    assert_eq!(place.ask("replay clock").json()["identical"], false);
}
