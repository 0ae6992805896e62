//! Items of blocks that go on after an interruption: they keep their ids and places, and a replay sees what the recorded
//! run saw.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const chain = (name: string, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const says = handler({ name: "says", execute: (input: any, ctx: any) => { ctx.emit.message("inside"); return input; } });
const asks = handler({ name: "asks", execute: async (input: any, ctx: any) => { await ctx.suspend({ reason: "approval", message: "go on?" }); return input; } });
const slow = handler({ name: "slow", execute: async (_input: any, ctx: any) => {
  for (let i = 0; i < 3; i++) await ctx.runOnce("k" + i, async () => i);
  await new Promise((done) => setTimeout(done, ctx.user.state.ok ? 1 : 60000));
} });
const box = { component: "card", label: (input: any) => `Box ${input}` };
const tool = handler({ name: "look", description: "looks", inputSchema: z.object({ n: z.number() }), execute: async (_input: any, ctx: any) => {
  await ctx.suspend({ reason: "approval", message: "look?" });
  return "seen";
} });
const other = handler({ name: "other", description: "is quick", inputSchema: z.object({ n: z.number() }), execute: () => "quick" });
const bot = generator({ name: "bot", model: "tiny", prompt: "Look.", agentType: "primary", tools: [tool, other] });
/** Shows a card, which another request of its user makes end. */
const shows = handler({ name: "shows", execute: async (input: any, ctx: any) => {
  ctx.emit.component("card", { ok: ctx.user.state.ok }, { key: "one" });
  ctx.emit.message("beside");
  for (let i = 0; i < 3; i++) await ctx.runOnce("s" + i, async () => i);
  await new Promise((done) => setTimeout(done, ctx.user.state.ok ? 1 : 60000));
  return input;
} });
let failed = 0;
const tries = handler({ name: "tries", retry: { maxAttempts: 2, baseDelayMs: 1 }, execute: (input: any, ctx: any) => {
  ctx.emit.component("card", { try: ctx.attempt }, { key: "one" });
  if (failed++ === 0) throw new Error("once more");
  return input;
} });
const types = handler({ name: "types", execute: (_input: any, ctx: any) =>
  ctx.response.getItems().filter((item: any) => item.type.startsWith("suspension")).map((item: any) => [item.type, item.suspensionId, item.message, item.resolution ?? null]) });
export default defineFlow({
  kind: "main",
  user: { stateSchema: z.object({ ok: z.boolean().default(false) }) },
  actions: {
    box: { block: chain("top", { container: box }).step(chain("inner", { container: box }).step(says).step(asks)).step(says) },
    killed: { block: chain("top", { container: box }).step(says).step(slow) },
    bot: { block: chain("top").step(bot) },
    looks: { block: chain("top").step(asks).step(types) },
    keyed: { block: chain("top").step(shows).step(says) },
    again: { block: chain("top").step(tries) },
    ok: { block: handler({ name: "ok", execute: async (_input: any, ctx: any) => { await ctx.user.patchState({ ok: true }); } }) },
  },
});
"#;

const SCRIPT: &str = r#"{ "generators": { "bot": [
  { "text": "Let me look.", "toolCalls": [{ "name": "look", "args": { "n": 1 } }, { "name": "other", "args": { "n": 2 } }] },
  { "text": "There it is." }
] } }"#;

/// Items of a request that match, with what is compared of them.
fn items(place: &Place, item_type: &str, fields: &[&str]) -> Vec<Vec<Value>> {
    let all = place.get(&format!("items --request r --type {item_type}"));
    let all = all.as_array().expect("a list").iter();
    all.map(|item| fields.iter().map(|field| item[*field].clone()).collect()).collect()
}

const SAME: &[&str] = &["id", "itemIndex", "seq"];

#[track_caller]
fn is_sound(place: &Place) {
    let replay = place.get("replay r");
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("check --data")["ok"], true);
}

#[test]
fn a_container_goes_on_after_an_answer() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main box --user ada --session s --request r --input 1").code, Some(4));
    let before = items(&place, "container", SAME);
    let began = items(&place, "container", &["startedAt"]);
    assert_eq!(before.len(), 2);
    assert_eq!(items(&place, "container", &["status"]), vec![vec![json!("in_progress")]; 2]);
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!(items(&place, "container", SAME), before);
    assert_eq!(items(&place, "container", &["startedAt"]), began);
    assert_eq!(items(&place, "container", &["status", "label"]), vec![vec![json!("completed"), json!("Box 1")]; 2]);
    is_sound(&place);
}

#[test]
fn a_container_goes_on_after_a_kill() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main killed --user ada --session s --request r --input 1");
    place.until("that it pauses", |place| {
        let begun = place.ask("events r --kind effect_started");
        (begun.code == Some(0) && begun.json().as_array().is_some_and(|all| all.len() >= 3)).then_some(())
    });
    let before = items(&place, "container", SAME);
    going.kill();
    place.get("run main ok --user ada --session t");
    assert_eq!(place.ask("resume r").code, Some(0));
    assert_eq!(items(&place, "container", SAME), before);
    assert_eq!(items(&place, "container", &["status"]), [[json!("completed")]]);
    is_sound(&place);
}

#[test]
fn texts_and_calls_of_a_model_go_on_after_an_answer() {
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", SCRIPT);
    assert_eq!(place.ask("run main bot --user ada --session s --request r --mock --input 1").code, Some(4));
    let both = |place: &Place| (items(place, "message", SAME), items(place, "block_tool_output", SAME));
    let before = both(&place);
    assert_eq!((before.0.len(), before.1.len()), (1, 2));
    assert_eq!(place.ask("resume r --approve --mock").code, Some(0));
    assert_eq!(both(&place), before);
    let said = items(&place, "message", &["content", "status"]);
    assert_eq!(said[0][0][0]["text"], "Let me look.\n\nThere it is.", "{said:#?}");
    assert_eq!(said[0][1], "completed");
    assert_eq!(items(&place, "block_tool_output", &["output"]), [[json!("seen")], [json!("quick")]]);
    is_sound(&place);
}

/// The reasoning was done when the text followed it, but the model call was not: the resume asks the model again.
#[test]
fn a_reasoning_is_that_of_the_answer_beside_it_after_a_kill() {
    let thinks = |reasoning: &str, text: &str, pause: u32| {
        format!(
            r#"{{ "generators": {{ "bot": [{{ "reasoning": "{reasoning}", "text": "{text}", "chunkMs": {pause} }}] }} }}"#
        )
    };
    let slow = thinks("Old thought.", &"old ".repeat(2000), 100);
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", &slow);
    let going = place.start("run main bot --user ada --session s --request r --mock --input 1");
    place.until("that the reasoning is done", |place| {
        let done = place.ask("events r --kind item_done");
        (done.code == Some(0) && done.json().as_array().is_some_and(|all| !all.is_empty())).then_some(())
    });
    let before = items(&place, "reasoning", SAME);
    assert_eq!(before.len(), 1);
    going.kill();
    let place = place.file("flows/main.mock.json", &thinks("New thought.", "New answer.", 0));
    assert_eq!(place.ask("resume r --mock").code, Some(0));
    assert_eq!(items(&place, "reasoning", SAME), before);
    let shown = items(&place, "reasoning", &["summary", "status"]);
    assert_eq!((&shown[0][0][0]["text"], &shown[0][1]), (&json!("New thought."), &json!("completed")), "{shown:#?}");
    assert_eq!(items(&place, "message", &["content"])[0][0][0]["text"], "New answer.");
    is_sound(&place);
}

/// In a replay there was no item of the question, and none of its answer.
#[test]
fn a_replay_sees_the_questions_of_its_request() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main looks --user ada --session s --request r --input 1").code, Some(4));
    let resumed = place.get("resume r --approve");
    let seen = resumed["output"].as_array().expect("a list");
    assert_eq!(seen.len(), 2, "{resumed:#}");
    assert_eq!((&seen[0][0], &seen[1][0]), (&json!("suspension"), &json!("suspension_resume")));
    assert_eq!((&seen[0][2], &seen[1][3]), (&json!("go on?"), &json!("approved")));
    is_sound(&place);
}

/// The item of a key that is emitted again after a kill, or by another try, is the same item in the same place.
#[test]
fn a_keyed_item_keeps_its_id_and_place() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main keyed --user ada --session s --request r --input 1");
    place.until("that it pauses", |place| {
        let begun = place.ask("events r --kind effect_started");
        (begun.code == Some(0) && begun.json().as_array().is_some_and(|all| all.len() >= 3)).then_some(())
    });
    let before = items(&place, "component", SAME);
    assert_eq!(before.len(), 1);
    going.kill();
    place.get("run main ok --user ada --session t");
    assert_eq!(place.ask("resume r").code, Some(0));
    assert_eq!(items(&place, "component", SAME), before);
    let shown = items(&place, "component", &["data", "provenance"]);
    assert_eq!((&shown[0][0]["ok"], &shown[0][1]["attempt"]), (&json!(true), &json!(1)), "{shown:#?}");
    // Those without a key are other items.
    let beside = items(&place, "message", SAME);
    assert!(beside[0][1].as_u64() > before[0][1].as_u64(), "{beside:?}");
    let all = place.get("items --request r");
    let numbers: Vec<_> = all.as_array().expect("a list").iter().map(|item| item["itemIndex"].as_u64()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    is_sound(&place);
}

#[test]
fn a_keyed_item_of_another_try_is_the_same_item() {
    let place = Place::with_flow(FLOW);
    place.get("run main again --user ada --session s --request r --input 1");
    let added = place.get("events r --kind item_added");
    let added = added.as_array().expect("a list").iter();
    let first = added.filter(|event| event["payload"]["item"]["type"] == "component").map(|event| event["seq"].clone());
    let first: Vec<Value> = first.collect();
    assert_eq!(first.len(), 2, "it is emitted by each try");
    let shown = items(&place, "component", &["id", "seq"]);
    assert_eq!(shown, [[json!(format!("item_component_r_{}", first[0])), first[0].clone()]]);
    is_sound(&place);
}
