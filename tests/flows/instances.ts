/**
 * Instances: options over a definition, and what a block sees of the run it belongs to.
 */

import { defineFlow, handler, type FlowType } from "@flow-state-dev/core";
import { z } from "zod";

const says = (words: string) => handler({ name: words.replace(/ /g, "-"), execute: () => words });

const flow: FlowType = defineFlow({
  kind: "instances",
  requireUser: false,
  authentication: { requireUser: true, defaultUserId: "somebody" },
  session: { stateSchema: z.object({ mood: z.string().default("calm") }), historyWindow: { turns: 3 } },
  request: { onStarted: handler({ name: "starts", execute: (_input, ctx) => ctx.emit.message("started") }) },
  middleware: [],
  internal: { actions: { hidden: { block: says("hidden") } } },
  actions: {
    kept: { description: "Stays as it is", block: says("as defined") },
    replaced: { description: "Keeps its description", block: says("as defined") },
    mood: { block: handler({ name: "mood", execute: (_input, ctx: any) => ctx.session.state.mood }) },
    facts: { block: handler({ name: "facts", execute: () => [flow, other].map(({ requireUser, config }: any) => ({ requireUser, config })) }) },
    runtime: {
      block: handler({
        name: "runtime",
        execute: async (_input, ctx) => {
          const { startedAtMs, ...runtime } = ctx.requestRuntime;
          return { ...runtime, started: startedAtMs > 0 && startedAtMs <= Date.now(), settings: ctx.settings, saved: (await ctx.saveCheckpoint()) ?? "nothing to say" };
        },
      }),
    },
  },
});

const settled = defineFlow({ kind: "settled", requireUser: false, configSchema: z.object({ n: z.number() }), actions: { mood: { block: says("settled") } } } as any) as any;
const other = settled({ config: { n: 1 } });

export default flow({
  id: "one of many",
  session: { retention: { maxItems: 5 } },
  request: { mutationTimeoutMs: 1000 },
  actions: { replaced: { block: says("as minted") }, added: { block: says("added") }, kept: undefined },
});
