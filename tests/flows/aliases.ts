/**
 * One thing by several names: the spellings of every age of the API.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const budget = z.object({ budget: z.number().default(100) });
const spend = handler({
  name: "spend",
  orgStateSchema: budget,
  execute: async (amount: number, ctx) => {
    await ctx.org!.incState({ budget: -amount });
    return [ctx.org!.state.budget, ctx.project!.state.budget, ctx.org!.identity.id === ctx.project!.identity.id];
  },
});
const look = handler({ name: "look", projectStateSchema: budget, execute: (_input, ctx) => ctx.project?.state.budget ?? "no team" });
const add = (name: string, n: number) => handler({ name, execute: (value: number) => value + n });
const one = add("one", 1);
const two = add("two", 2);
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const marks = handler({ name: "marks", execute: async (_value, ctx) => { await ctx.request.incState({ marks: 1 }); } });

export default defineFlow({
  kind: "aliases",
  org: { stateSchema: budget },
  request: { stateSchema: z.object({ marks: z.number().default(0) }) },
  actions: {
    spend: { block: spend },
    look: { steps: look },
    older: { steps: chain("older").then(one).thenIf((value) => value > 1, two).thenAll([one, two]).map((all) => all[1]!).thenAny([one]) },
    newer: { block: chain("newer").step(one).stepIf((value) => value > 1, two).stepAll([one, two]).map((all) => all[1]!).stepAny([one]) },
    work: { block: chain("work").work(marks).workIf(true, marks).waitForWork().map((_value, ctx) => ctx.request.state.marks) },
    sideChain: { block: chain("sideChain").sideChain(marks).sideChainIf(true, marks).waitForSideChain().map((_value, ctx) => ctx.request.state.marks) },
    each: { block: chain("each").forEachBackground(marks).waitForWork().forEachSideChain(marks).waitForSideChain().map((_value, ctx) => ctx.request.state.marks) },
    emits: {
      block: handler({
        name: "emits",
        execute: (_input, ctx) => {
          ctx.emitMessage("old", { agentType: "sub" });
          ctx.emit.message("new", { itemVisibility: { client: true, history: false } });
          ctx.emitComponent("card", { n: 1 });
          ctx.emit.component("card", { n: 2 });
          ctx.emitStatus("one");
          ctx.emit.status("two");
        },
      }),
    },
  },
});
