/**
 * A flow whose schemas are of zod 4.
 */

import { defineFlow, generator, handler, sequencer, transientSlot } from "@flow-state-dev/core";
import { z } from "zod/v4";

const order = z.object({ id: z.string().min(1), pieces: z.number().int().default(1), note: z.string().optional() });

export default defineFlow({
  kind: "zod-four",
  session: { stateSchema: z.object({ n: z.number().default(3), tags: z.record(z.string(), z.boolean()).default({}), deep: z.object({ on: z.boolean().default(true) }).prefault({}) }) as any },
  actions: {
    order: { block: handler({ name: "order", inputSchema: order as any, execute: (input) => input }) },
    state: { block: handler({ name: "state", execute: async (_input, ctx) => [ctx.session.state, await ctx.session.incState({ n: 1 }), await ctx.session.patchState({ n: "x" }).catch((error: Error) => error.name), ctx.session.state.n] }) },
    output: { block: handler({ name: "output", outputSchema: z.object({ n: z.number() }) as any, execute: (input) => input }) },
    slot: { block: sequencer({ name: "slot", stateSchema: z.object({ shown: z.number().default(0), hidden: transientSlot(z.string().default("unset") as any) }) as any }).tap(async (_value, ctx: any) => { await ctx.sequencer.patchState({ shown: 1, hidden: "swordfish" }); }).map((_value, ctx: any) => ctx.sequencer.state.hidden.length) },
    asks: { block: generator({ name: "asks", model: "tiny", prompt: "Answer.", outputSchema: z.object({ city: z.string() }) as any }) },
  },
});
