/**
 * Sequencers in sequencers, each with state of its own; what comes later is decided by that state.
 */

import { defineFlow, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const counted = z.object({ count: z.number().default(0), seen: z.array(z.string()).default([]) });
const stateful = (name: string) => sequencer({ name, inputSchema: z.any(), stateSchema: counted });

/** Writes to the sequencer around it, and answers how often that was written. */
const notes = (name: string) =>
  does(name, async (value, ctx) => {
    await ctx.sequencer.incState({ count: 1 });
    await ctx.sequencer.pushState("seen", name);
    return value + ctx.sequencer.state.count;
  });

const innermost = stateful("innermost").step(notes("deep")).step(notes("deeper")).map((value: number, ctx) => value * 10 + ctx.sequencer.state.count);
const inner = (name: string) => stateful(name).step(notes("begin")).step(innermost).step(notes("end")).map((value: number, ctx) => ({ value, seen: ctx.sequencer.state.seen }));

export default defineFlow({
  kind: "nested",
  request: { stateSchema: z.object({ order: z.array(z.string()).default([]) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: stateful("outer")
        .step(notes("first"))
        .step(inner("left"))
        .tap(does("remember", async (value, ctx) => { await ctx.request.pushState("order", `left ${value.value}`); }))
        .map((made: { value: number }) => made.value)
        .stepIf((_value, ctx) => ctx.sequencer.state.count === 1, inner("right"))
        .stepIf((_value, ctx) => ctx.sequencer.state.count > 1, notes("never"))
        .tap(async (value: any, ctx) => { await ctx.sequencer.pushState("seen", `tap ${value.value}`); })
        .map((made: any, ctx) => ({ made, count: ctx.sequencer.state.count, seen: ctx.sequencer.state.seen, order: (ctx.request as any).state.order })),
    },
  },
});
