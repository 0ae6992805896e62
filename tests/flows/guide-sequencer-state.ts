/**
 * The sequencer state guide's snippets as they stand, with what they leave out given.
 */

import { defineFlow, sequencer, handler, transientSlot } from "@flow-state-dev/core";
import { z } from "zod";

const pipeline = sequencer({
  name: "research-pipeline",
  inputSchema: z.string(),
  stateSchema: z.object({
    plan: z.array(z.string()).default([]),
    currentStep: z.number().default(0),
    findings: z.record(z.string()).default({}),
  }),
});

const planner = handler({
  name: "planner",
  sequencerStateSchema: z.object({
    plan: z.array(z.string()),
    currentStep: z.number(),
  }),
  execute: async (_input, ctx) => {
    await ctx.sequencer!.patchState({
      plan: ["search", "analyze", "summarize"],
      currentStep: 0,
    });
  },
});

const executor = handler({
  name: "executor",
  sequencerStateSchema: z.object({
    currentStep: z.number(),
    findings: z.record(z.string()),
  }),
  execute: async (_input, ctx) => {
    const step = ctx.sequencer!.state.currentStep;
    await ctx.sequencer!.patchState({
      findings: { [`step-${step}`]: "result..." },
    });
    await ctx.sequencer!.incState({ currentStep: 1 });
  },
});

const executeStep = handler({ name: "execute-step", execute: async (_input, ctx) => `executed after ${ctx.sequencer!.state.plan.length} planned` });

const research = pipeline
  .tap(planner)
  // DSL callbacks also see the typed state
  .stepIf(
    (_, ctx) => ctx.sequencer.state.currentStep < 3,
    executeStep
  );

const executed = pipeline.tap(planner).tap(executor).tap(executor).map((_value, ctx) => ctx.sequencer.state);

const ephemeral = sequencer({
  name: "ephemeral-pipeline",
  durable: false,
  stateSchema: z.object({ n: z.number().default(0) }),
}).tap(async (_input, ctx) => { await ctx.sequencer.incState({ n: 1 }); }).map((_value, ctx) => ctx.sequencer.state.n);

const counter = sequencer({
  name: "counter",
  stateSchema: z.object({
    count: z.number().default(0),
    // Worker-local scratch. Stays in memory but never appears on the SSE
    // stream and resets to its schema default on resume.
    lastClaimed: transientSlot(z.boolean().default(false)),
  }),
});

const claim = handler({ name: "claim", execute: async (_input, ctx) => { await ctx.sequencer!.patchState({ count: 1, lastClaimed: true }); } });
const claimOnly = handler({ name: "claim-only", execute: async (_input, ctx) => { await ctx.sequencer!.patchState({ lastClaimed: true }); } });
const claimed = handler({ name: "claimed", execute: (_input, ctx) => ctx.sequencer!.state });

const optional = sequencer({
  name: "optional",
  stateSchema: z.object({
    // Right
    field: transientSlot(z.string().optional()),
  }),
});

const outer = sequencer({ name: "outer-board", stateSchema: z.object({ tasks: z.array(z.string()).default([]) }) });
const reach = handler({
  name: "reach",
  targetStateSchemas: { "outer-board": z.object({ tasks: z.array(z.string()) }) },
  execute: async (_input, ctx) => {
    await ctx.targets["outer-board"]!.pushState("tasks", "from within");
    return { nearest: ctx.sequencer!.state, outer: ctx.targets["outer-board"]!.state };
  },
});

const guarded = handler({ name: "guarded", execute: (_input, ctx) => ({ sequencer: typeof ctx.sequencer, plan: ctx.sequencer?.state.plan ?? "no sequencer state" }) });

const callbacks = sequencer({ name: "callbacks", inputSchema: z.any(), stateSchema: z.object({ seen: z.array(z.string()).default([]) }) })
  .map(async (value, ctx) => { await ctx.sequencer.pushState("seen", "map"); return value; })
  .tap(async (_value, ctx) => { await ctx.sequencer.pushState("seen", "tap"); })
  .tapIf((_value, ctx) => ctx.sequencer.state.seen.length === 2, async (_value, ctx) => { await ctx.sequencer.pushState("seen", "tapIf"); })
  .workIf((_value, ctx) => ctx.sequencer.state.seen.length === 99, planner)
  .tap((_value, ctx) => [ctx.sequencer.state.seen.length], sequencer({ name: "each", inputSchema: z.any() }).forEach(handler({ name: "one", execute: (n) => n })))
  .doUntil((_value, ctx) => ctx.sequencer.state.seen.length === 3, handler({ name: "same", execute: (value) => value }))
  .branch({ only: [(_value, ctx) => ctx.sequencer.state.seen, (seen) => seen.length === 3, handler({ name: "got", execute: (seen) => seen })] })
  .throwIf((_value, ctx) => ctx.sequencer.state.seen.length !== 3, new Error("the state was not seen"))
  .exitIf((_value, ctx) => ctx.sequencer.state.seen.length === 3)
  .map(() => "not reached");

export default defineFlow({
  kind: "guide-sequencer-state",
  actions: {
    research: { block: research },
    executed: { block: executed },
    ephemeral: { block: ephemeral },
    counter: { block: counter.tap(claim).step(claimed) },
    counterOnly: { block: counter.tap(claimOnly).step(claimed) },
    optional: { block: optional.map((_value, ctx) => ctx.sequencer.state.field ?? "unset") },
    reach: { block: outer.step(sequencer({ name: "inner-board", stateSchema: z.object({ n: z.number().default(7) }) }).step(reach)) },
    guarded: { block: sequencer({ name: "stateless" }).step(guarded) },
    callbacks: { block: callbacks },
    fails: { block: pipeline.tap(planner).step(handler({ name: "fails", execute: () => { throw new Error("after the plan"); } })) },
  },
});
