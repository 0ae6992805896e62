//! A replay of a fork runs what it keeps of another request once more, for that request: its ids, its keys, its start.

use serde_json::{Value, json};
use tests::bench::Place;

/// Steps that say for whom they run: in what they return, in state and in what they do outside once.
const FLOW: &str = r#"
const who = (ctx: any) => ({
  request: ctx.request.identity.id, session: ctx.session.identity.id, key: ctx.idempotencyKey, at: ctx.runtime?.startedAtMs,
});
const step = (name: string) => handler({ name, execute: async (value: any, ctx: any) => {
  ctx.emitMessage(name);
  const items = ctx.response.getItems().map((item: any) => item.requestId);
  await ctx.session.patchState({ [name]: { ...who(ctx), items } });
  await ctx.session.appendJournal({ text: name });
  const once = await ctx.runOnce(`${name} ${ctx.session.identity.id}`, async () => ctx.idempotencyKey);
  return { ...value, [name]: once };
}});
const all = sequencer({ name: "all", inputSchema: z.any() })
  .step(step("a"))
  .map(async (value: any, ctx: any) => {
    await ctx.session.incState({ maps: 1 });
    return { ...value, mapped: ctx.request.identity.id };
  })
  .step(step("b"))
  .map(async (value: any, ctx: any) => {
    await ctx.session.incState({ maps: 1 });
    return { ...value, mappedAgain: ctx.request.identity.id };
  })
  .step(step("c"));
export default defineFlow({
  kind: "ids",
  session: { stateSchema: z.object({ maps: z.number().default(0) }).passthrough() },
  actions: { go: { inputSchema: z.any(), block: all } },
});
"#;

fn identical(place: &Place, request: &str) {
    let answer = place.ask(&format!("replay {request}"));
    assert_eq!(answer.code, Some(0), "{request}\n{answer}");
}

fn fork(place: &Place, request: &str, more: &str) -> Value {
    let answer = place.get(&format!("fork {request} {more}"));
    assert_eq!(answer["status"], "completed", "{answer}");
    identical(place, answer["requestId"].as_str().expect("an id"));
    answer
}

#[test]
fn what_a_fork_keeps_is_replayed_for_the_request_that_ran_it() {
    let place = Place::with_flow(FLOW);
    let ran = place.get("run ids go --user ada --session s --request r --input {}");
    assert_eq!(ran["output"]["mapped"], "r", "{ran}");
    identical(&place, "r");
    let first = fork(&place, "r", "--at root/step:b --set session.edited=1");
    assert_eq!(first["output"]["mapped"], "r", "what is kept stays as it was");
    let own = first["requestId"].as_str().expect("an id");
    assert_eq!(first["output"]["mappedAgain"], own, "what runs now runs for the fork");
    // Of a fork: three requests have a part in it.
    let second = fork(&place, own, "--at root/step:c");
    assert_eq!(second["output"]["mappedAgain"], own);
    // Before the first one left: nothing of the fork in between is in it.
    fork(&place, own, "--at root/step:a");
    let edited = fork(&place, "r", r#"--action-input {"n":1}"#);
    // Only what the fork with another input ran itself is kept of it.
    fork(&place, edited["requestId"].as_str().expect("an id"), "--at root/step:b");
    let counts = place.get("verify --all");
    assert_eq!((&counts["same"], &counts["differs"]), (&json!(6), &json!(0)), "{counts}");
}

#[test]
fn a_kept_fork_is_verified_without_the_request_that_it_comes_from() {
    let place = Place::with_flow(FLOW);
    place.get("run ids go --user ada --session s --request r --input {}");
    let forked = fork(&place, "r", "--at root/step:b");
    place.get(&format!("keep {} --as fork.run", forked["requestId"].as_str().expect("an id")));
    let elsewhere = Place::with_flow(FLOW);
    let kept = std::fs::read_to_string(place.dir().join("fork.run")).expect("it was kept");
    elsewhere.write("fork.run", kept);
    let verified = elsewhere.ask("verify fork.run");
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_fork_of_an_agent_is_replayed() {
    let place = Place::with_examples();
    let said = r#"{"content":"Where is my order 17?"}"#;
    let ran = place.run(&[
        "run",
        "concierge",
        "message",
        "--user",
        "ada",
        "--session",
        "t",
        "--request",
        "r",
        "--input",
        said,
        "--mock",
    ]);
    assert_eq!(ran.code, Some(0), "{ran}");
    fork(&place, "r", r#"--at root/turn[1]:a --set context.order.item="chair""#);
    fork(&place, "r", r#"--at root/message --output {"content":"Hi"}"#);
}
