/**
 * `reactTo`: blocks that run because a resource was written.
 *
 * `log` holds what came into force, in order.
 */

import { defineFlow, defineResource, defineResourceCollection, handler, resourceChangeSchema, resourceContentChangeSchema, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const say = (ctx: any, text: string) => ctx.session.pushState("log", text);
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const log = handler({ name: "log", execute: (_input, ctx: any) => ctx.session.state.log });

const memoSchema = z.object({ title: z.string(), status: z.enum(["draft", "published"]).default("draft"), summary: z.string().default("") });

const announce = handler({
  name: "announce",
  inputSchema: resourceChangeSchema(memoSchema),
  execute: async (change: any, ctx) => { await say(ctx, `${change.kind} ${change.ref} ${change.prevState?.title ?? "-"} ${change.state?.title ?? "-"}${change.evicted ? " evicted" : ""}`); },
});
const published = handler({ name: "published", execute: async (change: any, ctx) => { await say(ctx, `published ${change.key}`); } });
const summarize = sequencer({ name: "summarize", inputSchema: resourceContentChangeSchema() })
  .step(handler({ name: "read-body", execute: async (change: any, ctx: any) => ({ key: change.key, body: await (await ctx.resources.memos.get(change.key)).readContent() }) }))
  .step(handler({ name: "save-summary", execute: async ({ key, body }: any, ctx: any) => { await (await ctx.resources.memos.get(key)).patchState({ summary: body.slice(0, 4) }); } }));

const memos = defineResourceCollection({
  scope: "session",
  pattern: "memos/**",
  stateSchema: memoSchema,
  maxInstances: 2,
  eviction: "oldest",
  reactTo: {
    created: announce,
    stateUpdated: { block: published, when: (change: any) => change.state?.status === "published" && change.prevState?.status !== "published" },
    contentUpdated: summarize,
    deleted: announce,
  },
});

const gate = handler({ name: "gate", execute: async (_change: any, ctx: any) => { await say(ctx, "asks"); await ctx.suspend({ reason: "approval", message: "seen?" }); await say(ctx, "seen"); } });
const careful = defineResource({ ref: "careful", scope: "session", stateSchema: z.object({ n: z.number().default(0) }), reactTo: { stateUpdated: gate } });
const fragile = defineResource({ ref: "fragile", scope: "session", stateSchema: z.object({ n: z.number().default(0) }), reactTo: { stateUpdated: handler({ name: "breaks", execute: () => { throw new Error("cannot react"); } }) } });
const loose = defineResource({ ref: "loose", scope: "session", stateSchema: z.object({ n: z.number().default(0) }), reactTo: { stateUpdated: sequencer({ name: "beside", inputSchema: z.any() }).work(handler({ name: "breaks-beside", execute: () => { throw new Error("nobody minds"); } })) } });
const echo: any = defineResource({ ref: "echo", scope: "session", stateSchema: z.object({ n: z.number().default(0) }), reactTo: { updated: handler({ name: "again", execute: async (change: any, ctx: any) => { await ctx.resources.echo.patchState({ n: change.state.n + 1 }); } }) } });

const numbered = handler({ name: "numbered", inputSchema: resourceChangeSchema(z.object({ count: z.number() })), execute: async (_change: any, ctx: any) => { await say(ctx, "numbered"); } });
const unfit = defineResourceCollection({ scope: "session", pattern: "unfit/**", stateSchema: z.object({ language: z.string() }), reactTo: { created: numbered } });

const writes = (name: string, write: (ctx: any) => Promise<unknown>, resources: any) => handler({ name, resources, execute: async (_input, ctx: any) => { await say(ctx, `${name} begins`); await write(ctx); await say(ctx, `${name} ends`); } });
const create = writes("create", async (ctx) => { await ctx.resources.memos.create("one", { title: "First" }); }, { memos });
const publish = writes("publish", async (ctx) => { const memo = await ctx.resources.memos.get("one"); await memo.patchState({ title: "Second" }); await memo.patchState({ status: "published" }); await memo.patchState({ title: "Third" }); }, { memos });
const body = writes("body", async (ctx) => { await (await ctx.resources.memos.get("one")).writeContent("a long text"); }, { memos });
const touch = (what: string, resource: any) => writes(`touch-${what}`, async (ctx) => { await ctx.resources[what].patchState({ n: 1 }); }, { [what]: resource });

export default defineFlow({
  kind: "reactions",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: {
    created: { block: chain("created").step(create).step(log) },
    gated: { block: chain("gated").step(create).step(publish).step(log) },
    content: { block: chain("content").step(create).step(body).step(handler({ name: "look", execute: async (_input, ctx: any) => (await ctx.resources.memos.get("one")).state.summary })) },
    evicts: { block: chain("evicts").step(writes("three", async (ctx) => { for (const key of ["a", "b", "c"]) await ctx.resources.memos.create(key, { title: key.toUpperCase() }); await ctx.resources.memos.delete("b"); }, { memos })).step(log) },
    waits: { block: chain("waits").step(touch("careful", careful)).step(log) },
    fails: { block: chain("fails").step(touch("fragile", fragile)) },
    rescued: { block: chain("rescued").step(touch("fragile", fragile)).rescue([{ block: log }]) },
    beside: { block: chain("beside-chain").step(touch("loose", loose)).step(log) },
    cascade: { block: chain("cascade").step(touch("echo", echo)).step(handler({ name: "look-echo", execute: (_input, ctx: any) => ctx.resources.echo.state.n })) },
    unfit: { block: chain("unfit").step(writes("unfit", async (ctx) => { await ctx.resources.unfit.create("a.ts", { language: "ts" }); }, { unfit })).step(log) },
    unfitThenWaits: { block: chain("unfit-waits").step(writes("unfit", async (ctx) => { await ctx.resources.unfit.create("b.ts", { language: "ts" }); }, { unfit })).step(gate).step(log) },
    inFunctions: { block: sequencer({ name: "functions", inputSchema: z.any(), resources: { memos } } as any).tap(async (_input, ctx: any) => { await ctx.resources.memos.create("tap", { title: "Tapped" }); }).step(log) },
    failedWriter: { block: chain("failedWriter").step(handler({ name: "writer", resources: { memos }, execute: async (_input, ctx: any) => { await ctx.resources.memos.create("lost", { title: "Kept" }); throw new Error("after it"); } })).rescue([{ block: log }]) },
  },
});
