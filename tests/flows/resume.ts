/**
 * Going on with what failed: the failed block runs again, everything that ended stays as it is.
 *
 * `fixed` is the cause of every failure here: a run of `fix` takes it away. `log` holds what came into
 * force, in order.
 */

import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const say = (ctx: any, text: string) => ctx.session.pushState("log", text);
const does = (name: string, make: (input: any, ctx: any) => unknown = () => name) =>
  handler({ name, description: name, execute: async (input: any, ctx) => { await say(ctx, name); return make(input, ctx); } });
const breaks = (name: string) => does(name, () => { throw new Error(`${name} breaks`); });
/** Fails until somebody has fixed it; a failure keeps its writes. */
const fragile = (name: string) => does(name, (_input, ctx) => { if (!ctx.session.state.fixed) throw new Error(`${name} is broken`); return name; });
const slow = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); await say(ctx, name); return name; } });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const told = handler({ name: "told", execute: async (error: any, ctx) => { await say(ctx, `told ${error.message}`); return "rescued"; } });
const picked = router({ name: "picked", inputSchema: z.any(), routes: [does("left"), fragile("right")], execute: async (_input, ctx) => { await say(ctx, "choosing"); return fragile("right") as any; } });
const sees = handler({
  name: "sees",
  execute: (_input, ctx: any) => ({
    output: ctx.getBlockOutput("first"), rescued: ["weak", "whole", "whole fine"].map((name) => ctx.wasRescued(name)), weak: ctx.getBlockResult("weak"), target: ctx.getTarget("keeper")?.state?.n,
  }),
});
const keeper = sequencer({ name: "keeper", inputSchema: z.any(), stateSchema: z.object({ n: z.number().default(0) }) })
  .tap(async (_value: any, ctx: any) => { await ctx.sequencer.incState({ n: 5 }); })
  .step(does("inside"));

export default defineFlow({
  kind: "resume",
  session: { stateSchema: z.object({ fixed: z.boolean().default(false), log: z.array(z.string()).default([]) }) },
  request: { stateSchema: z.object({ passes: z.number().default(0) }) },
  actions: {
    fix: { block: handler({ name: "fix", execute: async (_input, ctx) => { await ctx.session.patchState({ fixed: true }); } }) },
    step: { block: chain("one").step(does("before")).step(fragile("weak")).step(does("after")) },
    nested: { block: chain("nested").step(chain("outer").step(does("before")).step(chain("inner").step(fragile("weak"))).step(does("then"))).step(does("after")) },
    caught: {
      block: chain("caught")
        .step(breaks("no").rescue([{ block: told }]))
        .step(chain("whole").step(breaks("part")).rescue([{ block: told }]))
        .stepAny([breaks("first"), does("second")])
        .race([breaks("loser"), does("winner")])
        .work(breaks("beside"))
        .waitForWork()
        .step(fragile("weak")),
    },
    winner: { block: chain("winner").race([slow("late", 60), slow("early", 1)]).map((value: any) => ({ value })).tap(fragile("weak")) },
    limited: { block: chain("limited").race([slow("late", 60), slow("early", 1), does("never")], { maxConcurrency: 2 } as any).tap(fragile("weak")) },
    both: { block: chain("both").parallel({ left: fragile("left"), right: fragile("right"), good: does("good") }) },
    rescuedBoth: { block: chain("rescuedBoth").step(chain("tried").parallel({ late: slow("late", 30).rescue([]) as any, left: breaks("left"), good: does("good") }).rescue([{ block: told }])).step(fragile("weak")) },
    routed: { block: chain("routed").step(does("before")).step(picked) },
    tools: { block: chain("tools").step(generator({ name: "bot", model: "tiny", prompt: "Go.", tools: [breaks("broken"), does("works")] })).step(fragile("weak")) },
    model: { block: chain("model").step(does("before")).step(generator({ name: "asked", model: "tiny", prompt: "Go.", tools: [does("works")] })) },
    loop: {
      block: sequencer({ name: "loop", inputSchema: z.any(), stateSchema: z.object({ n: z.number().default(0) }) })
        .doUntil((_value: any, ctx: any) => ctx.sequencer.state.n >= 3, does("pass", async (_input, ctx) => { await ctx.sequencer.incState({ n: 1 }); await ctx.request.incState({ passes: 1 }); return ctx.sequencer.state.n; }))
        .step(fragile("weak"))
        .map((_value: any, ctx: any) => ({ n: ctx.sequencer.state.n, passes: ctx.request.state.passes })),
    },
    functions: {
      block: chain("functions")
        .map(async (value: any, ctx: any) => { await say(ctx, "mapped"); await ctx.request.incState({ passes: 1 }); return value + 1; })
        .tap(async (_value: any, ctx: any) => { await say(ctx, "tapped"); })
        .stepIf(async (_value: any, ctx: any) => { await say(ctx, "asked"); return true; }, does("wanted"))
        .step(fragile("weak"))
        .map((_value: any, ctx: any) => ctx.request.state.passes),
    },
    knows: { block: chain("knows").step(does("first", () => "one")).step(breaks("weak").rescue([{ block: told }])).step(chain("whole").step(breaks("part")).rescue([{ block: told }])).step(chain("whole fine").step(does("fine")).rescue([{ block: told }])).step(keeper).step(fragile("fragile")).step(sees) },
    beside: { block: chain("beside").work(slow("background", 5)).work(breaks("failing")).step(fragile("weak")) },
    chainRescue: { block: chain("chainRescue").step(breaks("no")).rescue([{ block: fragile("handler") }]) },
    twoRescues: { block: chain("twoRescues").parallel({ left: chain("l").step(breaks("no")).rescue([{ block: fragile("handler") }]), right: chain("r").step(breaks("no")).rescue([{ block: fragile("handler") }]) }) },
    blockRescue: { block: chain("blockRescue").step(breaks("no").rescue([{ block: fragile("handler") }])).step(does("after")) },
  },
});
