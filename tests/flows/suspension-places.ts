/**
 * Where a flow may ask: in blocks at any depth, in several at once, in functions of a chain, beside it.
 *
 * `log` holds what came into force, in order: every block that ends leaves its name there once.
 */

import { defineFlow, generator, handler, router, sequencer, transientSlot } from "@flow-state-dev/core";
import { z } from "zod";

const allow = ["approve", "reject", "submit", "skip"] as const;
const say = (ctx: any, text: string) => ctx.session.pushState("log", text);
const ask = (ctx: any, message: string) => ctx.suspend({ reason: "approval", message, allow: [...allow] });

const gate = (name: string) =>
  handler({
    name,
    description: name,
    execute: async (_input, ctx) => {
      await say(ctx, `${name} begins`);
      const answer = await ask(ctx, name);
      await say(ctx, `${name} ends`);
      return answer ?? name;
    },
  });
const plain = (name: string) => handler({ name, description: name, execute: async (_input, ctx) => { await say(ctx, name); return name; } });
const failing = (name: string) => handler({ name, execute: async (_input, ctx) => { await say(ctx, name); throw new Error(`${name} fails`); } });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

const twice = handler({
  name: "twice",
  execute: async (_input, ctx) => [await ask(ctx, "first"), await ask(ctx, "second")],
});
const both = handler({
  name: "both",
  execute: (_input, ctx) => Promise.all([ask(ctx, "this"), ask(ctx, "that")]),
});
const tried = handler({
  name: "tried",
  retry: { maxAttempts: 3, baseDelayMs: 1 } as any,
  execute: async (_input, ctx) => {
    const answer = await ask(ctx, "tried");
    if (ctx.attempt < 1) throw new Error("not yet");
    return { answer, attempt: ctx.attempt };
  },
});
const each = handler({ name: "each", execute: async (item: any, ctx) => { await say(ctx, `item ${item}`); return item === 2 ? await ask(ctx, "two") : item; } });
const pass = handler({
  name: "pass",
  execute: async (n: any, ctx) => { await ask(ctx, `pass ${n}`); await say(ctx, `pass ${n}`); return n + 1; },
});
const chosen = router({
  name: "chosen",
  inputSchema: z.any(),
  routes: [gate("left"), gate("right")],
  execute: async (input: any, ctx) => { ctx.emit.message("choosing"); return (input === "l" ? gate("left") : gate("right")) as any; },
});
const noted = (name: string) => handler({ name, execute: async (input: any, ctx) => { await say(ctx, input?.status ? `${name} ${input.status}` : name); } });
const bot = (name: string, tools: any[]) => generator({ name, model: "tiny", prompt: "Go on.", tools });

export default defineFlow({
  kind: "suspension-places",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), hidden: z.number().default(0) }) },
  request: {
    stateSchema: z.object({ asked: z.number().default(0) }),
    onStarted: noted("onStarted"),
    onCompleted: noted("onCompleted"),
    onErrored: noted("onErrored"),
    onFinished: noted("onFinished"),
    onStepErrored: handler({ name: "onStepErrored", execute: async (_error, ctx) => { if (ctx.session.state.log.includes("curious")) await ask(ctx, "never"); } }),
  },
  actions: {
    deep: { block: chain("deep").step(plain("before")).step(chain("outer").step(plain("within")).step(chain("inner").step(gate("bottom")).step(plain("then")))).step(plain("after")) },
    twice: { block: twice },
    both: { block: both },
    parallel: { block: chain("parallel").parallel({ left: gate("left"), right: gate("right"), plain: plain("plain") }).step(plain("after")) },
    one: { block: chain("one").parallel({ left: gate("left"), right: gate("right"), plain: plain("plain") }, { maxConcurrency: 1 }) },
    all: { block: chain("all").stepAll([plain("a"), gate("b"), gate("c")]) },
    forEach: { block: chain("forEach").forEach(each, { maxConcurrency: 1 }) },
    any: { block: chain("any").stepAny([failing("no"), gate("maybe"), plain("last")]) },
    race: { block: chain("race").race([gate("slow"), plain("quick")]).step(gate("later")) },
    waiting: { block: chain("waiting").race([gate("x"), gate("y")]) },
    branch: { block: chain("branch").branch({ no: [(value: any) => value, () => false, plain("no")], yes: [(value: any) => value, () => true, chain("yes").step(plain("arm")).step(gate("inside"))] } as any) },
    router: { block: chain("router").step(plain("before")).step(chosen) },
    until: { block: chain("until").doUntil((n: any) => n >= 2, pass) },
    back: { block: chain("back").step(pass).loopBack("pass", { when: (n: any) => n < 2, maxIterations: 5 }).step(plain("after")) },
    beside: { block: chain("beside").work(gate("background")).step(plain("front")) },
    awaited: { block: chain("awaited").work(gate("background")).step(plain("front")).waitForWork().step(plain("after")) },
    many: { block: chain("many").forEachBackground(each).step(plain("front")) },
    tool: { block: bot("bot", [gate("refund"), plain("look")]) },
    tools: { block: bot("bots", [gate("refund"), gate("notify")]) },
    handled: { block: chain("handled").step(failing("breaks").rescue([{ block: gate("help") }])).step(plain("after")) },
    chainHandled: { block: chain("chainHandled").step(failing("breaks")).rescue([{ block: gate("help") }]) },
    asTool: { block: chain("asTool").step(gate("wrapped").asTool({ agentName: "helper" } as any)).step(plain("after")) },
    map: { block: chain("map").map((_value: any, ctx: any) => ask(ctx, "in a map")).step(plain("between")).map(async (value: any, ctx: any) => ({ value, more: await ask(ctx, "in another") })) },
    written: {
      block: chain("written")
        .map(async (_value: any, ctx: any) => { const answer = await ask(ctx, "with a write"); await say(ctx, "written"); return answer; })
        .map(async (value: any, ctx: any) => ({ value, more: await ask(ctx, "after a write") })),
    },
    tap: { block: chain("tap").tap(async (_value: any, ctx: any) => { await say(ctx, `tapped ${await ask(ctx, "in a tap")}`); }).step(plain("after")) },
    condition: { block: chain("condition").stepIf(async (_value: any, ctx: any) => (await ask(ctx, "in a condition")) === "yes", plain("wanted")) },
    connector: { block: chain("connector").step(async (_value: any, ctx: any) => ({ got: await ask(ctx, "in a connector") }), handler({ name: "echo", execute: (input) => input })) },
    caughtMap: { block: chain("caughtMap").map(async (_value: any, ctx: any) => { try { return await ask(ctx, "tried"); } catch (error: any) { return error.name; } }) },
    retried: { block: chain("retried").step(tried) },
    container: { block: sequencer({ name: "container", inputSchema: z.any(), container: { label: "Shown" } as any }).step(gate("inside")) },
    errored: { block: handler({ name: "errored", onErrored: (async (_error: any, ctx: any) => { await say(ctx, "block onErrored"); }) as any, execute: (_input, ctx) => ask(ctx, "errored") }) },
    finished: { block: handler({ name: "finished", onCompleted: (async (_output: any, ctx: any) => { await say(ctx, `completed ${await ask(ctx, "in a hook")}`); }) as any, execute: () => "done" }) },
    actionHook: { block: plain("body"), onCompleted: handler({ name: "hook", execute: (_input, ctx) => ask(ctx, "never") }) },
    stepHook: { block: chain("stepHook").step(plain("curious")).tap(failing("breaks").rescue([{ block: plain("swept") }])).step(gate("asked")) },
    greeting: { block: plain("body"), userMessage: (async (_input: any, ctx: any) => { return await ask(ctx, "greeting"); }) as any },
    once: { block: handler({ name: "once", execute: async (_input, ctx) => { const made = await ctx.runOnce("key", async () => Math.random()); await ask(ctx, "once"); return made === (await ctx.runOnce("key", async () => -1)); } }) },
    slots: {
      block: sequencer({ name: "slots", inputSchema: z.any(), stateSchema: z.object({ token: transientSlot(z.string().default("")), kept: z.string().default("") }) })
        .step(handler({ name: "fills", execute: async (_input, ctx: any) => { await ctx.sequencer.patchState({ token: "secret", kept: "kept" }); } }))
        .step(gate("asked"))
        .map((_value: any, ctx: any) => ({ seen: ctx.sequencer.state.token, kept: ctx.sequencer.state.kept })),
    },
    states: {
      block: sequencer({ name: "states", inputSchema: z.any(), stateSchema: z.object({ n: z.number().default(0) }) })
        .tap(async (_value: any, ctx: any) => { await ctx.sequencer.incState({ n: 1 }); await ctx.request.incState({ asked: 1 }); })
        .stepIf(async (_value: any, ctx: any) => { await ctx.sequencer.incState({ n: 10 }); return ctx.sequencer.state.n === 11; }, plain("eleven"))
        .map(async (_value: any, ctx: any) => { await ctx.session.incState({ hidden: 1 }); return { n: ctx.sequencer.state.n }; })
        .step(gate("middle"))
        .map((_value: any, ctx: any) => ({ n: ctx.sequencer.state.n, asked: ctx.request.state.asked, hidden: ctx.session.state.hidden })),
    },
  },
});
