//! What a block sees of the items and the journal of its own request is in a replay what it was: which items there
//! are, in which order, and when they were added.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const h = (name: string, execute: any) => handler({ name, inputSchema: z.any(), outputSchema: z.any(), execute });
const s = () => sequencer({ name: "s", inputSchema: z.any() }) as any;
const Q = (ctx: any, message = "on?") => ctx.suspend({ reason: "human_approval", message });
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const types = (ctx: any) => ctx.session.items.all().map((item: any) => item.type);
const whole = (ctx: any) => ctx.session.items.all().map((item: any) => [item.type, item.ts, item.payload]);
const say = h("say", (_: any, ctx: any) => { ctx.emit.message("said"); });
const slow = (see: any) => async (_: any, ctx: any) => { ctx.emit.message("m"); const seen = see(ctx); await sleep(1500); return seen; };
export default defineFlow({ kind: "main", actions: {
  before: { block: h("x", async (_: any, ctx: any) => { const seen = types(ctx); await Q(ctx); return seen; }) },
  emits: { block: h("x", async (_: any, ctx: any) => { ctx.emit.message("m"); await Q(ctx); return types(ctx); }) },
  twice: { block: h("x", async (_: any, ctx: any) => {
    const seen = [types(ctx)];
    for (const message of ["a", "b"]) { ctx.emit.message(message); await Q(ctx, message); seen.push(types(ctx)); }
    return seen;
  }) },
  steps: { block: s().step(say).step(h("asks", async (_: any, ctx: any) => { ctx.emit.message("m"); await Q(ctx); })).step(say).map((_: any, ctx: any) => whole(ctx)) },
  mapped: { block: s().step(say).map(async (_: any, ctx: any) => { ctx.emit.message("m"); await Q(ctx); return whole(ctx); }) },
  lost: { block: h("x", async (_: any, ctx: any) => {
    await Promise.race([Q(ctx, "lost"), sleep(10)]);
    await Q(ctx);
    return whole(ctx);
  }) },
  calls: { block: h("x", async (_: any, ctx: any) => { await (say as any).run(1, ctx); await Q(ctx); return types(ctx); }) },
  killed: { block: s().step(say).step(h("slow", slow(types))) },
  killedMap: { block: s().step(say).map(slow(types)) },
  times: { userMessage: () => "hello", block: s().step(say).step(h("x", async (_: any, ctx: any) => {
    await sleep(20);
    ctx.emit.message("m");
    await ctx.session.pushState("log", 1);
    return whole(ctx);
  })) },
  container: { block: sequencer({ name: "card", inputSchema: z.any(), container: { component: "card" } } as any).step(h("x", async (_: any, ctx: any) => { await sleep(20); return whole(ctx); })) },
  journal: { block: h("x", async (_: any, ctx: any) => {
    await ctx.session.appendJournal({ text: "one" });
    await sleep(20);
    await ctx.session.appendJournal({ text: "two" });
    return ctx.session.getJournal();
  }) },
  journalMap: { block: s().map(async (_: any, ctx: any) => { await sleep(20); await ctx.session.appendJournal({ text: "m" }); return ctx.session.getJournal(); }) },
} });
"#;

fn run(place: &Place, action: &str, code: i32) {
    let ran = place.ask(&format!("run main {action} --user ada --session {action} --request {action} --input 1"));
    assert_eq!(ran.code, Some(code), "{action}: {ran}");
}

/// Approves the only or the newest open question.
fn approve(place: &Place, request: &str) -> Option<i32> {
    let all = place.get(&format!("suspensions --session {request}"));
    let open = all.as_array().expect("a list").iter().find(|one| one["status"] == "pending");
    let id = open.and_then(|one| one["id"].as_str()).unwrap_or_else(|| panic!("nothing is asked: {all:#}"));
    place.ask(&format!("resume {request} --approve --suspension {id}")).code
}

#[track_caller]
fn is_identical(place: &Place, request: &str) {
    let replay = place.ask(&format!("replay {request}"));
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{request}: {replay}");
}

fn output(place: &Place, request: &str) -> Value {
    place.get(&format!("show {request}"))["output"].clone()
}

#[test]
fn a_block_that_asked_sees_the_same_items() {
    let place = Place::with_flow(FLOW);
    for action in ["before", "emits", "steps", "mapped", "calls", "lost"] {
        run(&place, action, 4);
        is_identical(&place, action);
        assert_eq!(approve(&place, action), Some(0), "{action}");
        is_identical(&place, action);
    }
    assert_eq!(output(&place, "before"), json!(["suspension", "suspension_resume"]));
    assert_eq!(output(&place, "emits"), json!(["suspension", "suspension_resume", "message"]));
}

#[test]
fn a_block_that_asked_twice_sees_the_same_items() {
    let place = Place::with_flow(FLOW);
    run(&place, "twice", 4);
    assert_eq!(approve(&place, "twice"), Some(4));
    is_identical(&place, "twice");
    assert_eq!(approve(&place, "twice"), Some(0));
    is_identical(&place, "twice");
}

#[test]
fn a_block_that_was_interrupted_sees_the_same_items() {
    let place = Place::with_flow(FLOW);
    for action in ["killed", "killedMap"] {
        let going =
            place.start(&format!("run main {action} --user ada --session {action} --request {action} --input 1"));
        place.until("it sleeps", |place| {
            let started = place.ask(&format!("events {action} --kind effect_started"));
            (started.code == Some(0) && started.json().as_array().is_some_and(|all| !all.is_empty())).then_some(())
        });
        going.kill();
        let resumed = place.ask(&format!("resume {action}"));
        assert_eq!(resumed.code, Some(0), "{action}: {resumed}");
        let seen = output(&place, action);
        assert!(seen.as_array().is_some_and(|seen| seen.contains(&json!("continuation"))), "{action}: {seen}");
        is_identical(&place, action);
    }
}

#[test]
fn items_and_journal_entries_have_their_recorded_times_and_ids() {
    let place = Place::with_flow(FLOW);
    for action in ["times", "container", "journal", "journalMap"] {
        run(&place, action, 0);
        is_identical(&place, action);
    }
}
