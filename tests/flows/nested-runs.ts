/**
 * `block.run(input, ctx)`: a function of a block runs another block inside its own.
 *
 * `log` holds what came into force, in order: a block that ends leaves its name there once.
 */

import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const say = (ctx: any, text: string) => ctx.session.pushState("log", text);
const logged = handler({ name: "logged", execute: (_input, ctx: any) => ctx.session.state.log });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

const double = handler({
  name: "double",
  inputSchema: z.number(),
  outputSchema: z.number(),
  execute: async (n, ctx: any) => { await say(ctx, `double ${n}`); return n * 2; },
});
const bot = generator({ name: "bot", model: "tiny", prompt: "Answer.", user: (input: any) => String(input) });
const asks = handler({ name: "asks", execute: async (_input, ctx: any) => (await ctx.suspend({ reason: "approval", message: "may I", allow: ["submit"] })) });
const breaks = handler({ name: "breaks", execute: () => { throw new TypeError("broken"); } });
const flaky = handler({ name: "flaky", retry: { maxAttempts: 2, baseDelayMs: 0 }, execute: (_input, ctx: any) => { if (ctx.attempt === 0) throw new Error("not yet"); return ctx.attempt; } });
const inner = chain("inner").step(double).map((n: number) => n + 1);

/** Counts, and lets a run of the same session in between. */
const adds = handler({ name: "adds", execute: async (n: any, ctx: any) => { await ctx.session.incState({ total: n }); return ctx.session.state.total; } });

export default defineFlow({
  kind: "nested-runs",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), total: z.number().default(0), phase: z.string().default("") }) },
  actions: {
    twice: { block: handler({ name: "twice", execute: async (n: any, ctx) => [await double.run(n, ctx), await double.run(n + 1, ctx)] }) },
    together: { block: handler({ name: "together", execute: (list: any, ctx) => Promise.all(list.map((n: number) => double.run(n, ctx))) }) },
    chain: { block: handler({ name: "outer", execute: (n: any, ctx) => inner.run(n, ctx) }) },
    model: { block: handler({ name: "asker", execute: async (question: any, ctx) => ({ said: await bot.run(question, ctx) }) }) },
    waits: { block: handler({ name: "waits", execute: async (n: any, ctx) => ({ before: await double.run(n, ctx), answer: await asks.run(n, ctx), after: await double.run(n + 1, ctx) }) }) },
    waitsBeside: { block: handler({ name: "waitsBeside", execute: (n: any, ctx) => Promise.all([asks.run(n, ctx), double.run(n, ctx)]) }) },
    catches: { block: handler({ name: "catches", execute: async (n: any, ctx) => { try { return await breaks.run(n, ctx); } catch (error) { return [(error as Error).name, (error as Error).message, error instanceof TypeError]; } } }) },
    fails: { block: handler({ name: "fails", execute: async (n: any, ctx) => { await double.run(n, ctx); return breaks.run(n, ctx); } }) },
    tries: { block: handler({ name: "tries", execute: (n: any, ctx) => flaky.run(n, ctx) }) },
    wrongInput: { block: handler({ name: "wrongInput", execute: (_n: any, ctx) => double.run("two" as any, ctx) }) },
    inFunctions: { block: chain("inFunctions")
      .tap(async (n: any, ctx) => { await double.run(n, ctx); })
      .map(async (n: any, ctx) => double.run(n, ctx))
      .stepIf(async (n: any, ctx) => (await double.run(n, ctx)) > 4, logged) },
    routed: { block: router({ name: "routed", routes: [logged, double], execute: async (n: any, ctx) => ((await double.run(n, ctx)) > 2 ? logged : double) }) },
    asTool: { block: generator({ name: "tooled", model: "tiny", prompt: "Use it.", tools: [handler({ name: "calc", description: "Calculates", inputSchema: z.object({ n: z.number() }), execute: ({ n }, ctx) => double.run(n, ctx) })] }) },
    sums: { block: handler({ name: "sums", execute: async (n: any, ctx: any) => { await ctx.session.incState({ total: n }); return adds.run(n, ctx); } }) },
    overwrites: { block: handler({ name: "overwrites", execute: async (_n: any, ctx: any) => { await ctx.session.patchState({ phase: "outer" }); return handler({ name: "late", execute: async (_m: any, c: any) => { await c.session.patchState({ phase: "inner" }); } }).run(0, ctx); } }) },
    late: { block: handler({ name: "late", execute: (n: any, ctx) => { void double.run(n, ctx); return "at once"; } }) },
    itself: { block: handler({ name: "itself", execute: (n: any): any => double.run(n, undefined as any) }) },
    noContext: { block: handler({ name: "noContext", execute: (n: any) => double.run(n, 7 as any) }) },
    crowd: { block: handler({ name: "crowd", execute: async (_n: any, ctx: any) => { const seen = ctx.session.state.total; const told = await adds.run(1, ctx); await ctx.user.patchState({ seen: (ctx.user.state.seen ?? 0) + 1 }); return [typeof seen, told > 0]; } }) },
  },
});
