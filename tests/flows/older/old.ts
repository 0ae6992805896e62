import { FlowError, defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

// What the database `format-5.db` was made with: every kind of event that its format knew.
const looks = handler({
  name: "looks",
  execute: async (input: number, ctx: any) => {
    await ctx.runOnce("key", async () => "once");
    await ctx.session.pushState("notes", input);
    await ctx.user.incState({ runs: 1 });
    await ctx.project?.incState({ runs: 1 });
    await ctx.request.patchState({ last: input });
    await ctx.session.appendJournal({ text: `note ${input}`, tags: ["t"] });
    await ctx.session.setMetadata({ title: "Written by format 5" });
    ctx.emit.message(`looked at ${input}`);
    return { input, when: Date.now() > 0, chance: Math.random() < 1, id: crypto.randomUUID().length };
  },
});
const large = handler({ name: "large", execute: async () => ({ text: "long words ".repeat(2000) }) });
const breaks = handler({ name: "breaks", execute: async () => { throw new FlowError("no luck", { code: "no" }); } });
const saved = handler({ name: "saved", rescue: [{ block: handler({ name: "mends", execute: async () => "mended" }) }], execute: async () => { throw new Error("caught"); } });
const add = handler({ name: "add", description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }: any) => ({ sum: a + b }) });
const thinks = generator({ name: "thinks", model: "tiny", prompt: "Answer.", tools: [add], agentType: "primary" });
const asks = (name: string, timeoutMs?: number) =>
  handler({ name, execute: async (input: any, ctx: any) => ctx.suspend({ reason: "approval", message: `go on with ${name}?`, data: { input }, timeoutMs }) });
const counts = handler({ name: "counts", execute: async (value: any, ctx: any) => { await ctx.sequencer.incState({ n: 1 }); return value; } });
const stays = handler({ name: "stays", execute: async (value: any, ctx: any) => { await ctx.sequencer.incState({ n: 10 }); ctx.emit.message("staying"); await new Promise((done) => setTimeout(done, 3_000)); return value; } });
const state = { stateSchema: z.object({ n: z.number().default(0) }) };

export default defineFlow({
  kind: "old",
  request: { stateSchema: z.object({ last: z.any() }) },
  session: { stateSchema: z.object({ notes: z.array(z.any()).default([]), mapped: z.number().default(0) }) },
  user: { stateSchema: z.object({ runs: z.number().default(0) }) },
  project: { stateSchema: z.object({ runs: z.number().default(0) }) },
  actions: {
    all: {
      userMessage: (input: any) => `all of ${input}`,
      block: sequencer({ name: "all", inputSchema: z.any(), ...state })
        .step(looks)
        .map(async (value: any, ctx: any) => { await ctx.session.incState({ mapped: 1 }); return value; })
        .tap(counts)
        .stepAny([breaks, saved])
        .parallel({ l: counts, r: large })
        .work(breaks)
        .step(() => "go", thinks)
        .waitForWork(),
    },
    asks: { block: sequencer({ name: "asks", inputSchema: z.any(), ...state }).step(counts).step(asks("first")).step(asks("second")) },
    late: { block: sequencer({ name: "late", inputSchema: z.any() }).step(asks("soon", 100_000_000)) },
    stays: { block: sequencer({ name: "stays all", inputSchema: z.any(), ...state }).step(counts).step(looks).step(stays) },
    fails: { block: sequencer({ name: "fails", inputSchema: z.any() }).step(looks).step(saved).step(breaks) },
  },
});
