/**
 * A plain chain: every step writes, says something, and has one side effect.
 */

import { defineFlow, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const add = (name: string, n: number) =>
  does(name, async (value, ctx) => {
    await ctx.session.incState({ total: n });
    await ctx.user.pushState("steps", name);
    ctx.emit.message(`${name} got ${value}`);
    return value + n;
  });

export default defineFlow({
  kind: "chain",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  user: { stateSchema: z.object({ steps: z.array(z.string()).default([]) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      userMessage: (input: number) => `begin with ${input}`,
      block: sequencer({ name: "chain", inputSchema: z.any() })
        .step(add("one", 1))
        .step(add("two", 2))
        .map((value: number) => value * 10)
        .tap(add("beside", 100))
        .stepIf((value: number) => value > 10, add("three", 3))
        .stepIf((value: number) => value > 1000, add("never", 1000))
        .step((value: number) => value + 1, add("four", 4))
        .step(add("five", 5)),
    },
  },
});
