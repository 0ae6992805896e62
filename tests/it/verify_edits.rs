//! Edits that change what a run shows, writes, asks or sends: `verify` calls none of them the same, and a person can
//! accept each that a replay carries out to its end.

use serde_json::{Value, json};
use tests::bench::{Place, repository};

const BEFORE: &str = "export const M = false;\n";
const AFTER: &str = "export const M = true;\n";

/// Each action does something else where `M` is true.
const FLOW: &str = r#"import { defineFlow, defineResource, dispatcher, dispatchThroughSeam, FlowError, generator, handler, markDispatcher, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { M } from "./m";
const pick = (then: any, now: any) => (M ? now : then);
const does = (name: string, execute: any) => ({ block: handler({ name, inputSchema: z.any(), outputSchema: z.any(), execute: async (input: any, ctx: any) => execute(ctx, input) }) });
const asks = (name: string, question: () => any) => does(name, async (ctx: any) => { await ctx.suspend(question()); return 1; });
const approval = () => ({ reason: "approval", message: "May I?" });
const one = defineResource({ scope: "session", stateSchema: z.object({ n: z.number().default(0) }) });
const two = defineResource({ scope: "session", stateSchema: z.object({ n: z.number().default(0) }) });
const said = (more: any) => generator({ name: "said", model: "tiny", prompt: "A", outputSchema: z.string(), ...more });
const pay = handler({ name: "pay", description: "pays", inputSchema: z.object({}), outputSchema: z.any(), execute: () => 1, ...(M ? {} : { approval: { required: true } }) } as any);
const payAsks = handler({ name: "payAsks", description: "pays", inputSchema: z.object({}), outputSchema: z.any(), execute: () => 1, approval: { required: true, message: pick("Pay 1?", "Pay 1000?") } } as any);
const send = (ctx: any, key: string, n: number) => dispatchThroughSeam(ctx, { type: "internal", target: "note", session: { key }, payload: { n }, from: "send" });
const sending = (name: string, execute: any) => ({ block: markDispatcher(does(name, execute).block, { type: "internal", target: "note" }) });
const note = (name: string) => ({ block: handler({ name, inputSchema: z.any(), outputSchema: z.any(), execute: () => 1 }) });
export default defineFlow({
  kind: "main",
  resources: { one, two },
  session: { stateSchema: z.object({ a: z.any().optional() }) },
  actions: {
    same: does("same", (ctx: any) => { ctx.emitMessage("a").appendDelta("b"); ctx.emitComponent("card", { id: 1 }, { key: "k" }).update({ id: 2 }); }),
    delta: does("delta", (ctx: any) => { ctx.emitMessage("hi").appendDelta(pick("a", "b")); }),
    update: does("update", (ctx: any) => { ctx.emitComponent("card", { t: 1 }).update({ t: pick(2, 3) }); }),
    agentType: does("agentType", (ctx: any) => { ctx.emitMessage("hi", { agentType: pick("primary", "trace") }); }),
    agentName: does("agentName", (ctx: any) => { ctx.emitMessage("hi", { agentName: pick("a", "b") }); }),
    visible: does("visible", (ctx: any) => { ctx.emitMessage("hi", { itemVisibility: { client: pick(true, false), history: true } }); }),
    transient: does("transient", (ctx: any) => { ctx.emitMessage("hi", { transient: pick(true, false) }); }),
    key: does("key", (ctx: any) => { ctx.emitComponent("card", { t: 1 }, { key: pick("a", "b") }); }),
    ownId: does("ownId", (ctx: any) => { ctx.emitComponent("card", { id: pick("A", "B") }); }),
    ownTime: does("ownTime", (ctx: any) => { ctx.emitComponent("card", { product: { expiresAt: pick("2027", "2029"), duration: 1 } }); }),
    journal: does("journal", async (ctx: any) => { await ctx.session.appendJournal({ text: "a", metadata: { id: pick(1, 2) } }); }),
    agent: { block: said({ agentType: pick("primary", "sub") }) },
    audience: { block: said({ itemVisibility: { client: true, history: pick(true, false) } }) },
    userMessage: { ...does("userMessage", () => 1), userMessage: () => pick("hey", "hoy") },
    nothing: does("nothing", () => pick(undefined, null)),
    resource: does("resource", async (ctx: any) => { await ctx.resources[pick("one", "two")].patchState({ n: 1 }); }),
    details: does("details", () => { throw new FlowError("a", { code: "c", details: { limit: pick(1, 2) } }); }),
    cause: does("cause", () => { throw new Error("a", { cause: new Error(pick("x", "y")) }); }),
    waitsInput: { block: sequencer({ name: "waitsInput", inputSchema: z.any() }).map(() => pick(1, 2)).step(asks("ask", approval).block) },
    waitsItem: does("waitsItem", async (ctx: any) => { ctx.emitMessage(pick("a", "b")); await ctx.suspend(approval()); }),
    waitsState: does("waitsState", async (ctx: any) => { await ctx.session.patchState({ a: pick(1, 2) }); await ctx.suspend(approval()); }),
    waitsAllow: asks("waitsAllow", () => ({ ...approval(), allow: pick(["approve"], ["approve", "reject"]) })),
    answered: asks("answered", () => ({ ...approval(), data: { eur: pick(1, 1000) } })),
    answeredGone: does("answeredGone", async (ctx: any) => { if (!M) await ctx.suspend(approval()); return 1; }),
    asksNow: does("asksNow", async (ctx: any) => { if (M) await ctx.suspend({ reason: "approval", message: "Really?", data: { eur: 9999 } }); return 1; }),
    tool: { block: said({ tools: [pay] }) },
    toolAsks: { block: said({ tools: [payAsks] }) },
    sends: { block: dispatcher({ name: "sends", type: "internal", target: "note", session: { key: () => pick("k1", "k2") }, payload: () => ({ text: "t" }) }) },
    sendsText: { block: dispatcher({ name: "sendsText", type: "internal", target: "note", session: { key: () => "k" }, payload: () => ({ text: pick("t", "u") }) }) },
    sendsTo: { block: dispatcher({ name: "sendsTo", type: "internal", target: pick("note", "other"), session: { key: () => "k" }, payload: () => ({ text: "t" }) }) },
    sendsBoth: sending("sendsBoth", async (ctx: any) => { await Promise.all([send(ctx, "a", pick(1, 100)), send(ctx, "b", 2)]); return 1; }),
    sendsGone: sending("sendsGone", async (ctx: any) => { if (!M) await send(ctx, "a", 1); return 1; }),
    sendsMore: sending("sendsMore", async (ctx: any) => { await send(ctx, "a", 1); if (M) await send(ctx, "b", 2); return 1; }),
    sendsAndAsks: sending("sendsAndAsks", async (ctx: any) => { await send(ctx, "a", 1); await ctx.suspend(approval()); return 1; }),
    input: { inputSchema: pick(z.any(), z.object({ must: z.string() })), ...does("input", () => 1) },
    inputKept: { inputSchema: z.object({ n: z.number().default(1), text: pick(z.any(), z.string().optional()) }), ...does("inputKept", () => 1) },
    pauses: does("pauses", async () => { while (M) await new Promise((done) => setTimeout(done, 5)); return 1; }),
  },
  internal: { actions: { note: note("note"), other: note("other") } },
});
"#;
const MOCK: &str = r#"{ "models": { "tiny": [{ "text": "hello" }] } }"#;
const MOCK_TOOL: &str =
    r#"{ "models": { "tiny": [{ "toolCalls": [{ "name": "TOOL", "args": {} }] }, { "text": "paid" }] } }"#;

/// What each edit is told as: its action, its field, and where in that.
const DIFFERENT: [(&str, &str, Option<&str>); 32] = [
    ("delta", "items", None),
    ("update", "items", Some("data.t")),
    ("agentType", "items", None),
    ("agentName", "items", None),
    ("visible", "items", None),
    ("transient", "items", None),
    ("key", "items", None),
    ("ownId", "items", Some("data.id")),
    ("ownTime", "items", Some("data.product.expiresAt")),
    ("journal", "items", Some("metadata.id")),
    ("agent", "items", None),
    ("audience", "items", None),
    ("userMessage", "items", Some("content[0].text")),
    ("nothing", "output", None),
    ("resource", "state", None),
    ("details", "error", Some("details.limit")),
    ("cause", "error", Some("details.cause.message")),
    ("waitsInput", "input", None),
    ("waitsItem", "items", Some("content[0].text")),
    ("waitsState", "state", Some("session")),
    ("waitsAllow", "items", None),
    ("answered", "items", Some("data.eur")),
    ("answeredGone", "items", None),
    ("asksNow", "items", None),
    ("tool", "items", None),
    ("toolAsks", "items", Some("message")),
    ("sends", "effect", Some("session.key")),
    ("sendsText", "effect", Some("payload.text")),
    ("sendsTo", "effect", Some("target")),
    ("sendsBoth", "effect", Some("payload.n")),
    ("sendsGone", "effect", None),
    ("input", "error", None),
];

/// Those whose answer a person has given.
const ANSWERED: [&str; 5] = ["answered", "answeredGone", "tool", "toolAsks", "sendsAndAsks"];

fn edited() -> Place {
    let place = Place::new();
    place.write("flows/main.ts", FLOW);
    place.write("flows/m.ts", BEFORE);
    place.write("mock.json", MOCK);
    place.write("tool.json", MOCK_TOOL.replace("TOOL", "pay"));
    place.write("toolAsks.json", MOCK_TOOL.replace("TOOL", "payAsks"));
    let others = ["same", "inputKept", "pauses", "sendsMore", "sendsAndAsks"];
    for action in DIFFERENT.iter().map(|(action, ..)| *action).chain(others) {
        let mock = if action.starts_with("tool") { format!("{action}.json") } else { "mock.json".to_owned() };
        place.ask(&format!("run main {action} --user ada --request {action} --input {{}} --mock={mock}"));
        if ANSWERED.contains(&action) {
            let answered = place.get(&format!("resume {action} --approve"));
            assert_eq!(answered["status"], "completed", "{action}: {answered}");
        }
    }
    place
}

fn verdicts(place: &Place, query: &str) -> Vec<Value> {
    place.ask(&format!("verify {query}")).json()["results"].as_array().cloned().unwrap_or_default()
}

fn of<'r>(rows: &'r [Value], request: &str) -> &'r Value {
    rows.iter().find(|row| row["requestId"] == request).unwrap_or(&Value::Null)
}

#[test]
fn what_a_run_shows_writes_asks_or_sends_otherwise_is_not_the_same() {
    let place = edited();
    for row in verdicts(&place, "--all") {
        assert_eq!(row["verdict"], "same", "nothing was changed: {row:#}");
    }
    place.write("flows/m.ts", AFTER);
    let rows = verdicts(&place, "");
    for (request, field, inner) in DIFFERENT {
        let row = of(&rows, request);
        assert_eq!((&row["verdict"], &row["field"]), (&json!("differs"), &json!(field)), "{request}: {row:#}");
        if let Some(inner) = inner {
            assert_eq!(row["place"], inner, "{request}: {row:#}");
        }
    }
    for request in ["same", "inputKept", "sendsAndAsks"] {
        assert_eq!(of(&rows, request)["verdict"], "same", "{request}: {:#}", of(&rows, request));
    }
    // A pause that was not recorded is not made: nobody knows what comes after it.
    let pauses = of(&rows, "pauses");
    assert_eq!((&pauses["verdict"], &pauses["found"]), (&json!("asks_new"), &json!("sleep, call 1")), "{pauses:#}");
    // Nor is anything sent that was not recorded.
    let more = of(&rows, "sendsMore");
    assert_eq!((&more["verdict"], &more["found"]), (&json!("asks_new"), &json!("once, call 2")), "{more:#}");
    let replay = place.ask("replay answered");
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(1), &json!(false)), "{replay}");
}

/// What is accepted is what the run does now, a question included.
#[test]
fn what_differs_is_accepted_with_what_the_run_does_now() {
    let place = edited();
    place.write("flows/m.ts", AFTER);
    let rows = verdicts(&place, "--accept");
    for (request, ..) in DIFFERENT.iter().filter(|(request, ..)| *request != "input") {
        let row = of(&rows, request);
        assert_eq!(row["accepted"], true, "{request}: {row:#}");
    }
    let input = of(&rows, "input");
    assert!(input["why"].as_str().is_some_and(|why| why.contains("does not take the recorded input")), "{input:#}");
    let rows = verdicts(&place, "");
    for (request, ..) in DIFFERENT.iter().filter(|(request, ..)| *request != "input") {
        assert_eq!(of(&rows, request)["verdict"], "same", "{request}: {:#}", of(&rows, request));
    }
    place.get("keep asksNow --as asks.run");
    let kept = std::fs::read_to_string(place.dir().join("asks.run")).expect("it is there");
    assert!(kept.contains("Really?"), "the question is expected: {kept}");
    // What was accepted is compared, too.
    place.write("flows/m.ts", BEFORE);
    let rows = verdicts(&place, "");
    for (request, ..) in DIFFERENT.iter().filter(|(request, ..)| *request != "input") {
        assert_eq!(of(&rows, request)["verdict"], "differs", "{request}: {:#}", of(&rows, request));
    }
}

/// An approval is for what was shown: a call that nobody is asked about any more is another one.
#[test]
fn a_confirmation_that_is_gone_is_missed() {
    let place = Place::with_examples();
    for request in ["waits", "approved"] {
        place.ask(&format!("run refund ask --user ada --request {request} --input {{\"order\":\"17\"}} --mock"));
    }
    assert_eq!(place.get("resume approved --approve")["status"], "completed");
    assert_eq!(place.ask("verify --all --flow refund").code, Some(0));
    let flow = std::fs::read_to_string(repository().join("flows/refund.ts")).expect("the example");
    place.write("flows/refund.ts", flow.replace("amount > 20", "amount > 200"));
    for row in verdicts(&place, "--flow refund") {
        assert_eq!(row["verdict"], "differs", "{row:#}");
    }
    assert_eq!(place.ask("replay waits").code, Some(1));
}

/// What was accepted with an earlier version lacks what that did not compare.
#[test]
fn what_earlier_versions_accepted_still_holds() {
    let place = edited();
    place.write("flows/m.ts", AFTER);
    place.get("keep agentName --as name.run");
    place.ask("verify name.run --accept");
    let file = place.dir().join("name.run");
    let kept = std::fs::read_to_string(&file).expect("it is there");
    let added = [",\"form\":2", ",\"agentName\":\"b\"", "\"undefined\":true,"];
    let older = added.iter().fold(kept.clone(), |text, added| text.replace(added, ""));
    assert!(older.len() < kept.len() - 20, "{kept}");
    place.write("older.run", older);
    let verified = place.ask("verify older.run");
    assert_eq!(verified.code, Some(0), "{verified}");
}
