/**
 * Several blocks at once, some limited; what they write may come in any order and comes to the same.
 */

import { defineFlow, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const part = (name: string) =>
  does(name, async (value, ctx) => {
    await ctx.session.incState({ total: 1 });
    await ctx.request.setStateRecord("by", name, value);
    ctx.emit.message(`${name} is done`);
    return value * 2;
  });
const item = does("item", async (value, ctx) => {
  await ctx.session.incState({ total: value });
  await ctx.sequencer.incState({ items: 1 });
  return value * value;
});

export default defineFlow({
  kind: "fanout",
  request: { stateSchema: z.object({ by: z.record(z.string(), z.number()).default({}) }) },
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: sequencer({ name: "fanout", inputSchema: z.any(), stateSchema: z.object({ items: z.number().default(0) }) })
        .parallel({
          a: part("a"),
          b: { connector: (value: number) => value + 1, block: part("b") },
          c: sequencer({ name: "c", inputSchema: z.any() }).step(part("c1")).step(part("c2")),
        }, { maxConcurrency: 2 })
        .forEach((made: { a: number; b: number; c: number }) => [made.a, made.b, made.c, 5], item, { maxConcurrency: 2 })
        .stepAll([does("sum", (list: number[]) => list.reduce((a, b) => a + b, 0)), does("length", (list: number[]) => list.length)])
        .map((made: unknown, ctx) => ({ made, items: ctx.sequencer.state.items })),
    },
  },
});
