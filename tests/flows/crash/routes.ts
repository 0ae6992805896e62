/**
 * Branches by condition and routers by decision: a resume must go the way the first run went.
 */

import { defineFlow, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

const small = does("small", async (value, ctx) => { await ctx.request.incState({ small: 1 }); return value + 1; });
const big = does("big", async (value, ctx) => { await ctx.request.incState({ big: 1 }); return value * 2; });

/** Goes by what earlier blocks wrote. */
const bySize = router({
  name: "by-size",
  inputSchema: z.any(),
  routes: [small, big],
  execute: async (_value, ctx: any) => (ctx.request.state.small === 0 ? small : big),
});
const deep = chain("deep").step(does("first")).step(does("second", async (value, ctx) => { await ctx.session.pushState("ways", "deep"); return value + 100; }));
const shallow = does("shallow");
const byDepth = router({ name: "by-depth", inputSchema: z.any(), routes: [deep, shallow], execute: async (value: number) => (value > 1 ? deep : shallow) });

export default defineFlow({
  kind: "routes",
  request: { stateSchema: z.object({ small: z.number().default(0), big: z.number().default(0) }) },
  session: { stateSchema: z.object({ ways: z.array(z.string()).default([]) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: chain("routes")
        .step(bySize)
        .step(bySize)
        .branch({
          low: [(value: number) => value, (value: number) => value < 3, does("low")],
          high: [(value: number) => value * 10, (value: number, ctx: any) => ctx.request.state.big === 1, deep],
        })
        .step(byDepth)
        .tap(does("last", async (value, ctx) => { await ctx.session.pushState("ways", `last ${value}`); ctx.emit.message(`at ${value}`); })),
    },
  },
});
