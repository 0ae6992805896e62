/**
 * Doing something once in a request, and effects that know their block.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const counted = (ctx: any) => async () => { await ctx.session.incState({ ran: 1 }); return { ran: ctx.session.state.ran }; };
const once = (name: string, key: any) => handler({ name, execute: (_input, ctx) => (ctx as any).runOnce(key, counted(ctx)) });

export default defineFlow({
  kind: "once",
  session: { stateSchema: z.object({ ran: z.number().default(0) }) },
  actions: {
    twice: { block: sequencer({ name: "twice" }).step(once("first", "k")).step(once("second", "k")) },
    together: { block: sequencer({ name: "together" }).parallel({ a: once("a", "k"), b: once("b", "k"), c: once("c", "other") }).map((all) => [all.a.ran === all.b.ran, all.c.ran === all.a.ran]) },
    empty: { block: once("empty", "") },
    failing: {
      block: handler({
        name: "failing",
        execute: async (_input, ctx: any) => {
          const first = await ctx.runOnce("k", async () => { throw new Error("not memoised"); }).catch((error: Error) => error.message);
          return [first, await ctx.runOnce("k", async () => "the second try")];
        },
      }),
    },
    effects: {
      block: sequencer({ name: "effects" }).parallel({
        left: handler({ name: "left", execute: async () => { await Promise.resolve(); const at = Date.now(); await Promise.resolve(); return at > 0; } }),
        right: handler({ name: "right", execute: async () => { await Promise.resolve(); const chance = Math.random(); await Promise.resolve(); return chance < 1; } }),
      }),
    },
  },
});
