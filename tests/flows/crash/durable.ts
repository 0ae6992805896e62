/**
 * Lasting writes, items and journal entries, made by handlers and by the functions of a chain.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does, effect } from "./lib/counting";

const bump = async (ctx: any, by: string) => {
  await ctx.session.incState({ n: 1 });
  await ctx.user.pushState("by", by);
};

const once = handler({
  name: "once",
  inputSchema: z.any(),
  execute: async (value: any, ctx: any) => {
    await effect(ctx);
    const made: any = await ctx.runOnce("made", async () => ({ at: value }));
    await ctx.request.incState({ made: 1 });
    await ctx.session.appendJournal({ text: `once ${value}`, tags: ["handler"] });
    return made.at;
  },
});
const hooked = handler({
  name: "hooked",
  inputSchema: z.any(),
  execute: async (value: any, ctx: any) => { await effect(ctx); await bump(ctx, "hooked"); return value; },
  onCompleted: async (_output: unknown, ctx: any) => { await bump(ctx, "hook"); },
});

export default defineFlow({
  kind: "durable",
  request: {
    stateSchema: z.object({ made: z.number().default(0), log: z.array(z.string()).default([]) }),
    onStarted: does("started", async (_input, ctx) => { await bump(ctx, "started"); }),
  },
  session: { stateSchema: z.object({ n: z.number().default(0), last: z.string().default("") }) },
  user: { stateSchema: z.object({ by: z.array(z.string()).default([]) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      onCompleted: does("ended", async (_output, ctx) => { await ctx.project.incState({ runs: 1 }); }),
      block: sequencer({ name: "durable", inputSchema: z.any() })
        .step(does("first", async (value, ctx) => { await bump(ctx, "first"); ctx.emit.message("from a handler"); return value + 1; }))
        .map(async (value: any, ctx: any) => { await bump(ctx, "map"); ctx.emit.message("from a map"); return value + 1; })
        .tap(async (value: any, ctx: any) => { await bump(ctx, "tap"); await ctx.session.appendJournal({ text: `tap ${value}` }); await ctx.request.pushState("log", `tap ${value}`); })
        .step(once)
        .stepIf(async (_value: any, ctx: any) => { await bump(ctx, "condition"); return (ctx.session.state.n > 2) as boolean; }, does("conditional", async (value, ctx) => { await ctx.session.patchState({ last: `conditional ${value}` }); return value + 1; }))
        .step(async (value: any, ctx: any) => { await bump(ctx, "connector"); ctx.emit.status("from a connector"); return value + 1; }, hooked)
        .tapIf(async (_value: any, ctx: any) => { await bump(ctx, "tap condition"); return true; }, does("tapped", async (value, ctx) => { await ctx.request.pushState("log", `tapped ${value}`); }))
        .exitIf(async (_value: any, ctx: any) => { await bump(ctx, "exit condition"); return false; })
        .map((value: any, ctx: any) => ({ value, n: ctx.session.state.n, by: ctx.user.state.by, log: ctx.request.state.log })),
    },
  },
});
