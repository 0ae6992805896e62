/**
 * Blocks that a function runs, and reactions to what a block wrote: a resume takes from the log what had ended.
 */

import { defineFlow, defineResource, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const part = (name: string) => does(name, async (value, ctx) => { await ctx.session.pushState("parts", name); return value + 1; });
const [first, second, third] = [part("first"), part("second"), part("third")];
const inner = sequencer({ name: "inner", inputSchema: z.any() }).step(part("inner-a")).step(part("inner-b"));

const index: any = defineResource({ ref: "index", scope: "session", stateSchema: z.object({ n: z.number().default(0), seen: z.number().default(0) }), reactTo: {
  stateUpdated: { block: does("reacts", async (change, ctx) => { await ctx.session.pushState("parts", `reacts ${change.state.n}`); }), when: (change: any) => change.state.n !== change.prevState.n },
} });

export default defineFlow({
  kind: "inside",
  session: { stateSchema: z.object({ parts: z.array(z.string()).default([]) }) },
  resources: { index },
  actions: {
    go: {
      inputSchema: z.number(),
      block: sequencer({ name: "runs", inputSchema: z.any() })
        .step(does("outer", async (value, ctx) => second.run(await inner.run(await first.run(value, ctx), ctx), ctx)))
        .step(does("writes", async (value, ctx) => { await ctx.resources.index.patchState({ n: value }); return value; }))
        .tap(async (value: any, ctx: any) => { await ctx.resources.index.patchState({ n: value + 1 }); })
        .map(async (value: any, ctx: any) => third.run(value, ctx))
        .map((value: unknown, ctx) => ({ value, parts: (ctx.session as any).state.parts })),
    },
  },
});
