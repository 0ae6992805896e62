//! What a request saw of others while they worked is what its replay sees: their records and their part of the session.

use serde_json::json;
use tests::bench::Place;

const FLOW: &str = r#"
import { defineFlow, defineResource, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const res = defineResource({ ref: "res", scope: "user", stateSchema: z.object({ n: z.number().default(0) }), writable: true });
const R = { resources: { res } };
const ask = handler({ name: "ask", inputSchema: z.object({}), execute: async (_, ctx) =>
  (await ctx.suspend({ reason: "human_approval", message: "ok?" })) ?? "yes" });
const say = handler({ name: "say", execute: async (m, ctx) => {
  ctx.emit.message("said " + m);
  await ctx.session.appendJournal({ text: "noted " + m });
  await ctx.session.setMetadata({ title: "title " + m });
} });
const look = async (ctx) => {
  await ctx.user.atomicState((s) => ({ seen: s.bumps ?? 0 }));
  await new Promise((done) => setTimeout(done, 1500));
  return ctx.resources.res.state.n;
};
const both = handler({ name: "both", ...R, execute: async (n, ctx) => {
  await ctx.user.incState({ bumps: 1 });
  await ctx.resources.res.setState({ n });
} });
const use = handler({ name: "use", ...R, execute: () => 0 });
const said = (ctx) => ctx.session.items.all().filter((item) => item.type === "message").length;
const waits = handler({ name: "waits", execute: async (_, ctx) => {
  const before = [said(ctx), (await ctx.session.getJournal({})).length];
  await ctx.suspend({ reason: "human_approval", message: "on?" });
  const journal = (await ctx.session.getJournal({})).map((entry) => entry.text);
  return { before, items: said(ctx), journal, title: ctx.session.metadata.title };
} });
export default defineFlow({ kind: "main", actions: {
  say: { block: say },
  chat: { userMessage: () => "u", block: generator({ name: "gs", model: "m", prompt: "p", tools: [ask], history: true,
    user: () => "u", itemVisibility: { client: true, history: true } }) },
  waits: { block: waits },
  both: { block: both },
  slow: { block: handler({ name: "slow", ...R, execute: async (_, ctx) => await look(ctx) }) },
  mapped: { block: sequencer({ name: "s" }).tap(use).map(async (_, ctx) => await look(ctx)) },
} });
"#;

fn place() -> Place {
    let turns = json!([{ "text": "one", "toolCalls": [{ "name": "ask", "args": {} }] }, { "text": "two" }]);
    let mock = json!({ "generators": { "gs": turns } });
    Place::new().file("flows/main.ts", FLOW).file("flows/main.mock.json", &mock.to_string())
}

fn is_identical(place: &Place, request: &str) {
    let replayed = place.run(&["replay", request]);
    assert!(replayed.code == Some(0) && replayed.stdout.contains("identical"), "{request}: {replayed}");
}

/// A person talks on while an approval waits; what the request finds after the answer is there in the replay, too.
#[test]
fn a_session_that_goes_on_while_a_request_waits_is_replayed_as_it_was() {
    let place = place();
    let run = |action: &str, request: &str, input: &str| {
        let told =
            ["run", "main", action, "--user", "u", "--session", "s", "--mock", "--request", request, "--input", input];
        place.run(&told)
    };
    for (action, request) in [("chat", "asks"), ("waits", "waits")] {
        run("say", &format!("{request}-before"), "1");
        let waits = run(action, request, "1");
        assert!(waits.stdout.contains("resume"), "{waits}");
        run("say", &format!("{request}-meanwhile"), "2");
        let resumed = place.run(&["resume", request, "--approve", "--mock"]);
        assert_eq!(resumed.code, Some(0), "{resumed}");
        run("say", &format!("{request}-after"), "3");
        is_identical(&place, request);
    }
    let found = place.get("show waits")["output"].clone();
    let texts = json!(["noted 1", "noted 2", "noted 3", "noted 1", "noted 2"]);
    assert_eq!(found["journal"], texts, "it found what was noted meanwhile");
}

/// A conflict repeats the attempt, or the function, that looked at a resource first, and only the look that is behind
/// the request says its version.
#[test]
fn a_resource_is_replayed_as_it_was_looked_at_before_a_conflict() {
    let place = place();
    for action in ["slow", "mapped"] {
        let going = place.start(&format!("run main {action} --user {action} --input 1 --request {action}"));
        let has_written = |place: &Place| {
            let events = place.run(&["events", action]);
            events.stdout.contains("state_changed").then_some(())
        };
        place.until("its first write", has_written);
        place.run(&["run", "main", "both", "--user", action, "--input", "7"]);
        let ended = going.ended();
        assert_eq!(ended.code, Some(0), "{ended}");
        is_identical(&place, action);
    }
}
