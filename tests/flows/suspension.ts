/**
 * Stopping to ask somebody, and going on with the answer.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const prepare = handler({ name: "prepare", execute: async (input, ctx) => { await ctx.session.pushState("log", "prepared"); return input; } });
const asks = handler({
  name: "asks",
  execute: async (_input, ctx) => {
    const answer = await ctx.suspend({ reason: "approval", message: "May I?", data: { amount: 5 }, allow: ["approve", "reject", "submit", "skip"] });
    await ctx.session.pushState("log", "answered");
    return { answer };
  },
});
const shown = handler({ name: "shown", execute: (error: any) => ({ rescued: error.name }) });
const refund = handler({ name: "refund", description: "Refunds", execute: async (_input, ctx) => ({ answer: await ctx.suspend({ reason: "approval" }) }) });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

export default defineFlow({
  kind: "suspension",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: {
    ask: { block: chain("ask").step(prepare).step(asks).tap(async (_value, ctx) => { await ctx.session.pushState("log", "done"); }) },
    ownId: { block: handler({ name: "ownId", execute: (_input, ctx: any) => ctx.suspend({ reason: "approval", suspensionId: "mine" }) }) },
    typed: { block: handler({ name: "typed", execute: (_input, ctx) => ctx.suspend({ reason: "data", resumeSchema: z.object({ n: z.number() }) }) }) },
    caught: { block: handler({ name: "caught", execute: async (_input, ctx) => { try { return await ctx.suspend({ reason: "approval" }); } catch (error: any) { return { caught: error.name }; } } }) },
    rescued: { block: chain("rescued").step(asks.rescue([{ block: shown }])) },
    tool: { block: generator({ name: "bot", model: "tiny", prompt: "Refund.", tools: [refund] }) },
  },
});
