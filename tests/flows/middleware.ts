/**
 * Functions around blocks: the flow's around every block, a block's own inside of them.
 */

import { defineFlow, FlowError, generator, handler, sequencer, type Middleware } from "@flow-state-dev/core";
import { z } from "zod";

const note = (name: string, filter?: Middleware["filter"]): Middleware => ({
  name,
  filter,
  execute: async (ctx, next) => {
    await ctx.session.pushState("log", `${name} > ${ctx.block.kind} ${ctx.block.name}`);
    const output = await next();
    await ctx.session.pushState("log", `${name} < ${ctx.block.name}`);
    return output;
  },
});

const around = note("flow", ({ name }) => name.startsWith("seen"));
const seen = handler({ name: "seen", execute: (input: number) => input + 1, middleware: [note("outer"), note("inner")] });
const doubles: Middleware = { name: "doubles", execute: async (_ctx, next) => ({ doubled: 2 * (await next()) }) };
const looks: Middleware = { name: "looks", execute: async (ctx, next) => { await next(); return ctx.session.state.count; } };
const writes = handler({ name: "writes", execute: async (_input, ctx) => ctx.session.incState({ count: 1 }) });
const counted: Middleware = {
  name: "counted",
  execute: async (ctx, next) => {
    const before = ctx.session.state.count;
    await next();
    await ctx.session.patchState({ count: before + 10 });
    return ctx.session.state.count;
  },
};
const flaky = handler({
  name: "flaky",
  retry: { maxAttempts: 3 },
  middleware: [note("try")],
  execute: (_input, ctx) => { if (ctx.attempt < 2) throw new Error("not now"); return ctx.attempt; },
});
const asks = handler({
  name: "asks",
  middleware: [{ name: "guard", execute: async (ctx, next) => { try { return { got: await next(), input: ctx.input }; } catch { return "seen by a guard"; } } }],
  execute: (_input, ctx) => ctx.suspend({ reason: "human_input" }),
});
const gate = handler({ name: "gate", execute: (_input, ctx) => ctx.suspend({ reason: "human_input" }) });
const loud: Middleware = { name: "loud", execute: async (_ctx, next) => String(await next()).toUpperCase() };

export default defineFlow({
  kind: "middleware",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), count: z.number().default(0) }) },
  middleware: [around],
  actions: {
    order: { block: sequencer({ name: "seenChain" }).step(seen) },
    output: { block: handler({ name: "output", execute: (input: number) => input, middleware: [doubles] }) },
    short: { block: sequencer({ name: "short", middleware: [{ name: "stop", execute: () => "stopped" }] }).step(writes) },
    plain: { block: handler({ name: "plain", execute: () => "inner", middleware: [async (_ctx, next) => `(${await next()})`] }) },
    twice: { block: handler({ name: "twice", execute: () => 1, middleware: [{ name: "greedy", execute: async (_ctx, next) => { await next(); return next(); } }] }) },
    caught: { block: handler({ name: "caught", execute: () => { throw new FlowError("bad", { code: "E1" }); }, middleware: [{ name: "net", execute: async (_ctx, next) => { try { return await next(); } catch (error: any) { return { code: error.code, isOne: error instanceof FlowError }; } } }] }) },
    thrown: { block: sequencer({ name: "thrown", middleware: [{ name: "again", execute: async (_ctx, next) => { try { return await next(); } catch (error) { throw error; } } }] }).step(handler({ name: "bad", execute: () => { throw new FlowError("bad", { code: "E1" }); } })) },
    retried: { block: flaky },
    asked: { block: asks },
    askedInside: { block: sequencer({ name: "askedInside", middleware: [note("wait")] }).step(writes).step(gate) },
    reads: { block: sequencer({ name: "reads", middleware: [looks] }).step(writes) },
    conflict: { block: sequencer({ name: "conflict", middleware: [counted] }).step(writes) },
    model: { block: generator({ name: "bot", model: "tiny", itemVisibility: { client: true, history: true }, middleware: [loud] }) },
    late: { block: sequencer({ name: "late", middleware: [{ name: "hasty", execute: (_ctx, next) => { void next(); return "early"; } }] }).step(writes) },
  },
});
