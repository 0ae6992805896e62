/**
 * Capabilities: what several blocks share, given by name.
 */

import { defineCapability, defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const tally = defineCapability({
  name: "tally",
  sessionStateSchema: z.object({ tally: z.number().default(0) }),
  fns: (ctx: any) => ({ add: async (n: number) => { await ctx.session.incState({ tally: n }); return ctx.session.state.tally; } }),
});
const look = handler({ name: "look", description: "Looks", execute: () => "seen" });
const sight = defineCapability({ name: "sight", context: "You can see.", tools: [look] });

const counts = handler({ name: "counts", uses: [tally], execute: (n: number, ctx: any) => ctx.cap.tally.add(n) });

const reads = handler({ name: "reads", execute: (_input, ctx: any) => Object.keys(ctx.cap).map((name) => `${name}:${ctx.cap[name].whose}`).join() });
const whose = (name: string, by: string) => defineCapability({ name, fns: () => ({ whose: by }) });
const made: string[] = [];
const counted = defineCapability({ name: "counted", fns: (ctx: any) => { made.push(ctx.attempt); return { times: () => made.length }; } });
const own = defineCapability({ name: "own", stateSchema: z.object({ second: z.number().default(2) }) });
const pick = handler({ name: "pick", description: "Picks", execute: () => "picked" });
const closer = defineCapability({ name: "closer", context: (input: string) => `Closer to ${input}.`, tools: [pick] });
const modelled = (name: string) => defineCapability({ name, model: name, fns: () => ({}) });

export default defineFlow({
  kind: "capabilities",
  actions: {
    functions: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(counts).step(counts) },
    absent: { block: handler({ name: "absent", execute: (_input, ctx: any) => typeof ctx.cap?.tally }) },
    sees: { block: generator({ name: "sees", model: "tiny", prompt: "Look.", uses: [sight] }) },
    inherited: { block: sequencer({ name: "around", inputSchema: z.any(), uses: [whose("a", "around")] })
      .step(sequencer({ name: "inside", uses: [whose("a", "inside"), whose("b", "inside")] }).step(reads)) },
    once: { block: handler({ name: "once", uses: [counted], execute: (_input, ctx: any) => [ctx.cap.counted.times(), ctx.cap.counted.times(), ctx.cap.counted === ctx.cap.counted] }) },
    state: { block: handler({ name: "state", stateSchema: z.object({ first: z.number().default(1) }), uses: [own], execute: (_input, ctx: any) => ctx.self.state }) },
    chosen: { block: generator({ name: "chosen", model: "tiny", prompt: "Look.", uses: [(ctx: any) => (ctx.session.state.near ? [] : [closer])] }) },
    model: { block: generator({ name: "model", prompt: "Which?", uses: [modelled("first"), modelled("last")] }) },
    tooMuch: { block: generator({ name: "tooMuch", model: "tiny", prompt: "Look.", uses: [() => [modelled("late")]] }) },
  },
});
