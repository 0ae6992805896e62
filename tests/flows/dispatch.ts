/**
 * Blocks that start an internal or a task entry as a request of its own.
 */

import { defineFlow, dispatcher, DispatchRefusedError, dispatchThroughSeam, handler, markDispatcher, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const note = handler({
  name: "note",
  inputSchema: z.object({ text: z.string() }),
  execute: async ({ text }, ctx) => { await ctx.session.pushState("log", text); return text; },
});
const background = dispatcher({
  name: "background",
  type: "internal",
  target: "note",
  inputSchema: z.object({ document: z.string() }),
  session: { key: ({ document }) => document },
  payload: ({ document }) => ({ text: `read ${document}` }),
});
const into = dispatcher({ name: "into", type: "internal", target: "note", session: { id: ({ session }: any) => session }, payload: () => ({ text: "delivered" }) });
const newer = dispatcher({ name: "newer", action: "note", session: { key: () => "newer" }, payload: () => ({ text: "newer" }) });
const asking = dispatcher({ name: "asking", type: "internal", target: "answer", session: { key: () => "helper" } });
const reply = dispatcher({ name: "reply", type: "internal", target: "note", session: { from: true }, payload: (text: string) => ({ text }) });
const elsewhere = dispatcher({ name: "elsewhere", type: "internal", flowKind: "nowhere", target: "note", session: { key: () => "k" } });
const wrong = dispatcher({ name: "wrong", type: "internal", target: "note", session: { key: () => "k" }, payload: () => ({ text: 1 }) });
const handOff = dispatcher({ name: "handOff", type: "task", target: "work", session: "per-task" });
const refused = handler({ name: "refused", execute: (error: any) => ({ refused: error.refused, is: error instanceof DispatchRefusedError }) });
// As packages do that make blocks of their own for it.
const byHand = markDispatcher(handler({
  name: "byHand",
  execute: async (_input, ctx) => {
    const to = (target: string, session: any, payload: unknown = { text: target }) => dispatchThroughSeam(ctx, { type: "internal", target, session, payload, from: "byHand" });
    const all = [await to("note", { key: "seam" }), await to("note", { key: "seam" }), await to("nothing", { key: "seam" }), await to("note", { id: "nowhere" })];
    return all.map((outcome: any) => outcome.refused ?? [outcome.ok, outcome.adopted]);
  },
}), { type: "internal", target: "note" });
const gate = handler({ name: "gate", execute: (input, ctx) => ctx.suspend({ reason: "human_input" }) });

export default defineFlow({
  kind: "dispatch",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: {
    start: { block: sequencer({ name: "start", inputSchema: z.any() }).step(background) },
    deliver: { block: into.rescue([{ when: [DispatchRefusedError], block: refused }]) },
    ask: { block: asking },
    newer: { block: newer },
    lost: { block: sequencer({ name: "lost" }).step(elsewhere.rescue([{ block: refused }])) },
    wrong: { block: wrong },
    orphan: { block: reply },
    task: { block: handOff },
    byHand: { block: byHand },
    waits: { block: sequencer({ name: "waits", inputSchema: z.any() }).tap(background).step(gate) },
    empty: { block: dispatcher({ name: "empty", type: "internal", target: "note", session: { key: () => "" } }) },
  },
  internal: { actions: { note: { block: note }, answer: { block: sequencer({ name: "answer" }).step(() => "an answer", reply) } } },
  tasks: { work: { block: handler({ name: "work", execute: (payload) => payload }) } },
});
