/**
 * Middleware around a chain and its steps: it writes before and after, and what is inside has side effects.
 */

import { defineFlow, sequencer, type Middleware } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const counts: Middleware = {
  name: "counts",
  execute: async (ctx, next) => {
    await ctx.session.incState({ begun: 1 });
    const output = await next();
    await ctx.session.incState({ ended: 1 });
    ctx.emit.message(`${ctx.block.name} gave ${String(output)}`);
    return output;
  },
};

const add = (name: string, n: number) =>
  does(name, async (value, ctx) => {
    await ctx.user.pushState("steps", name);
    return value + n;
  });

export default defineFlow({
  kind: "layers",
  middleware: [counts],
  session: { stateSchema: z.object({ begun: z.number().default(0), ended: z.number().default(0) }) },
  user: { stateSchema: z.object({ steps: z.array(z.string()).default([]) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: sequencer({ name: "chain", inputSchema: z.any() })
        .step(add("one", 1))
        .step(sequencer({ name: "inner", middleware: [counts] }).step(add("two", 2)).step(add("three", 3)))
        .step(add("four", 4)),
    },
  },
});
