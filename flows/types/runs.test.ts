/**
 * The code of the documents this API follows, as it is written there, so that it keeps type-checking as it stands: sequencers and items.
 *
 * Only what those pages leave open is declared here: a context, a step, and the configuration behind an ellipsis.
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { generator, handler, sequencer, transientSlot } from "@flow-state-dev/core";
import type { Block, BlockContext } from "@flow-state-dev/core";
import { z } from "zod";

declare const ctx: BlockContext;
declare const executeStep: Block<any, string>;
declare const theRest: { name: string; model: string; prompt: string };

// Sequencer state.

const pipeline = sequencer({
  name: "research-pipeline",
  inputSchema: z.string(),
  stateSchema: z.object({
    plan: z.array(z.string()).default([]),
    currentStep: z.number().default(0),
    findings: z.record(z.string()).default({}),
  }),
});

const planner = handler({
  name: "planner",
  sequencerStateSchema: z.object({
    plan: z.array(z.string()),
    currentStep: z.number(),
  }),
  execute: async (_input, ctx) => {
    await ctx.sequencer!.patchState({
      plan: ["search", "analyze", "summarize"],
      currentStep: 0,
    });
  },
});

const returningPlanner = handler({
  name: "planner",
  sequencerStateSchema: z.object({
    plan: z.array(z.string()),
    currentStep: z.number(),
  }),
  execute: async (input, ctx) => {
    await ctx.sequencer!.patchState({
      plan: ["search", "analyze", "summarize"],
      currentStep: 0,
    });
    return input;
  },
});

const executor = handler({
  name: "executor",
  sequencerStateSchema: z.object({
    currentStep: z.number(),
    findings: z.record(z.string()),
  }),
  execute: async (_input, ctx) => {
    const step = ctx.sequencer!.state.currentStep;
    await ctx.sequencer!.patchState({
      findings: { [`step-${step}`]: "result..." },
    });
    await ctx.sequencer!.incState({ currentStep: 1 });
  },
});

export const researchPipeline = pipeline
  .then(returningPlanner)
  .then(executor)
  .then(executor);

export const research = pipeline
  .tap(planner)
  .stepIf(
    (_, ctx) => ctx.sequencer.state.currentStep < 3,
    executeStep
  );

export const ephemeral = sequencer({
  name: "ephemeral-pipeline",
  durable: false,
  stateSchema: z.object({ /* ... */ }),
});

export const counter = sequencer({
  name: "counter",
  stateSchema: z.object({
    count: z.number().default(0),
    lastClaimed: transientSlot(z.boolean().default(false)),
  }),
});

export const scratch = z.object({
  field: transientSlot(z.string().optional())
});

// Finding blocks with getTarget.

export const finder = handler({
  name: "finder",
  execute: async (input, ctx) => {
    const plannerResult = ctx.getTarget<{ plan: string[] }>("planner");

    if (plannerResult) {
      const plan = plannerResult.state.plan;
      await plannerResult.patchState({ plan: [...plan, "extra-step"] });
    }
  },
});

// Items.

export const chatbot = generator({ agentType: "primary", ...theRest });
export const worker = generator({ agentType: "sub", ...theRest });
export const memoryObserver = generator({ agentType: "trace", ...theRest });
export const classifier = generator({ outputSchema: z.enum(["A", "B"]), ...theRest });

export async function items() {
  ctx.emitMessage("Analysis complete.");
  ctx.emitMessage("Debug observation", { agentType: "trace" });
  ctx.emitComponent("chart", { points: [1, 2, 3] });
  ctx.emitStatus("Working");
  const history = ctx.session.items.history({ limit: { tokens: 20_000 } });
  return history;
}
