/**
 * Promises that nothing can settle end in an error that names their block; promises that something
 * still settles are waited for, whoever settles them.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const forever = () => new Promise<never>(() => {});
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

const stuck = handler({ name: "stuck", execute: async () => { await forever(); } });
const slow = handler({ name: "slow", execute: async () => { await pause(40); return "slow"; } });
const tell = handler({ name: "tell", execute: (error: any) => ({ told: error.name, code: error.code }) });

/** Settled from outside the block that waits for it. */
let open: (value: string) => void = () => {};
const opened = new Promise<string>((resolve) => { open = resolve; });

export default defineFlow({
  kind: "never",
  actions: {
    alone: { block: sequencer({ name: "chain" }).step(stuck) },
    condition: { block: sequencer({ name: "chain" }).stepIf(() => forever(), slow) },
    retried: { block: handler({ name: "tried", retry: { maxAttempts: 3 }, execute: async (_input, ctx) => { ctx.emit.message("try"); await forever(); } }) },
    rescued: { block: sequencer({ name: "chain" }).step(stuck).rescue([{ when: [FlowError], block: tell }]) },
    beside: { block: sequencer({ name: "both" }).parallel({ stuck, slow }) },
    first: { block: sequencer({ name: "race" }).stepAny([stuck, slow]) },
    background: { block: sequencer({ name: "chain" }).work(stuck).waitForWork().map(() => "on") },
    kept: { block: sequencer({ name: "chain" }).work(slow).work(handler({ name: "waits", execute: async () => { await opened; } })).step(handler({ name: "opens", execute: async () => { await pause(20); open("now"); return "opened"; } })).waitForWork() },
    sibling: { block: sequencer({ name: "pair" }).parallel({
      waits: handler({ name: "waits", execute: () => opened }),
      opens: handler({ name: "opens", execute: async () => { await pause(20); open("from beside"); } }),
    }) },
    interval: { block: handler({ name: "ticks", outputSchema: z.number(), execute: () => new Promise<number>((done) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); done(n); } }, 5); }) }) },
    state: { block: handler({ name: "writes", execute: async (_input, ctx) => { for (let n = 0; n < 20; n++) await ctx.session.incState({ n: 1 }); return ctx.session.state.n; } }) },
  },
});
