/**
 * The options of a step: a signal that its block runs under, and who is told how it ended.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const inc = handler({ name: "inc", execute: (value: any) => value + 1 });
const same = handler({ name: "same", execute: (value) => value });
const boom = handler({ name: "boom", execute: () => { throw new Error("boom"); } });
const answers = handler({ name: "answers", execute: () => "instead" });
const told = handler({ name: "told", execute: (error: any) => { console.log("rescued"); return error.message; } });
const asks = handler({ name: "asks", execute: async (value, ctx) => { await ctx.suspend({ reason: "approval" }); return value; } });
const fragile = handler({ name: "fragile", execute: (value, ctx) => { if (!ctx.session.state.fixed) throw new Error("not yet"); return value; } });

/** What a block sees of its signal. */
const sees = handler({ name: "sees", execute: (_value, ctx) => [ctx.signal.aborted, ctx.signal.reason?.message ?? null] });
const waits = handler({
  name: "waits",
  execute: (_value, ctx) =>
    ctx.signal.aborted
      ? ctx.signal.reason.message
      : new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve(ctx.signal.reason.message))),
});

const tells = { onSettled: (_ctx: unknown, outcome: string) => console.log(outcome) };
const early = { abortSignal: () => AbortSignal.abort(new Error("early")) };
const controller = new AbortController();

export default defineFlow({
  kind: "step-options",
  session: { stateSchema: z.object({ fixed: z.boolean().default(false) }) },
  request: { stateSchema: z.object({ stop: z.boolean().default(false) }) },
  actions: {
    returned: {
      block: chain("returned").step(inc, tells).step((value) => value * 10, inc, tells).stepIf(true, inc, tells).stepIf(false, inc, tells),
    },
    written: { block: chain("written").step(handler, { execute: (value: number) => value + 1 }, tells).stepIf(true, handler, { execute: (value: number, ctx) => [value, ctx.signal.aborted] }, early) },
    threw: { block: chain("threw").step(boom.rescue([{ block: answers }]), tells).step(boom, tells).rescue([{ block: told }]) },
    connectorThrew: { block: chain("connectorThrew").step(() => { throw new Error("connector"); }, inc, tells) },
    asks: { block: chain("asks").step(asks, tells).step(inc) },
    later: { block: chain("later").step(inc, tells).step(fragile) },
    fix: { block: handler({ name: "fix", execute: async (_value, ctx) => { await ctx.session.patchState({ fixed: true }); } }) },
    broken: { block: chain("broken").step(inc, { onSettled: () => { throw new Error("late"); } }) },
    early: { block: chain("early").step(chain("inner").step(sees), early) },
    connector: { block: chain("connector").step((_value, ctx) => ctx.signal.aborted, same, early) },
    next: { block: chain("next").step(inc, early).step(sees) },
    none: { block: chain("none").step(sees, { abortSignal: () => undefined }) },
    wrong: { block: chain("wrong").step(sees, { abortSignal: () => "soon" as never }) },
    byState: {
      block: chain("byState")
        .tap(async (_value, ctx) => { await ctx.request.patchState({ stop: true }); })
        .step(sees, { abortSignal: (ctx) => (ctx.request.state.stop ? AbortSignal.abort(new Error("said so")) : undefined) }),
    },
    while: {
      block: chain("while").parallel({
        waits: chain("long").step(waits, { abortSignal: () => controller.signal }),
        stops: handler({ name: "stops", execute: () => { controller.abort(new Error("enough")); return "stopped"; } }),
      }),
    },
  },
});
