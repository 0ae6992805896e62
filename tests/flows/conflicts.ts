/**
 * When a conflict may not be tried again: a flow that sets its compare-and-set loop to give up at once.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = async (ms: number) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); };
const swap = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => { const now = ctx.user.state; await pause(ms); await ctx.user.setState({ ...now, n: now.n + 1 }); return name; } });
const add = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => { const n = ctx.user.state.n; await pause(ms); await ctx.user.incState({ n: 1 }); return n; } });
const shown = handler({ name: "shown", execute: (error: any) => ({ name: error.name, code: error.code, message: error.message, retryable: error.retryable }) });

export default defineFlow({
  kind: "conflicts",
  user: { stateSchema: z.object({ n: z.number().default(0) }), cas: { maxRetries: 0 } },
  actions: {
    loses: { block: sequencer({ name: "loses" }).parallel({ early: swap("early", 5), late: swap("late", 60) }) },
    explained: { block: sequencer({ name: "explained" }).parallel({ early: swap("early", 5), late: swap("late", 60).rescue([{ block: shown }]) }) },
    commutes: { block: sequencer({ name: "commutes" }).parallel({ early: add("early", 5), late: add("late", 60) }).map((_all, ctx) => ctx.user.state.n) },
    inOrder: { block: sequencer({ name: "inOrder" }).step(swap("one", 0)).step(swap("two", 0)).map((_value, ctx) => ctx.user.state.n) },
  },
});
