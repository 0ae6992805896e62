/**
 * The code of the pages on sequencer state, as it is written there, so that it keeps type-checking as it stands.
 *
 * Only what those pages leave open is declared here. A function around a snippet keeps its names apart from the next one.
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { sequencer, handler, transientSlot } from "@flow-state-dev/core";
import type { Block } from "@flow-state-dev/core";
import { z } from "zod";
import { typed } from "./expect.js";

declare const executeStep: Block<any, string>;

// State that the steps of one run share.

export function sharedByReturningBlocks() {
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
    execute: async (input, ctx) => {
      // Write the plan into sequencer state for downstream blocks
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
    execute: async (input, ctx) => {
      const step = ctx.sequencer!.state.currentStep;

      // Do work, then record findings and advance
      await ctx.sequencer!.patchState({
        findings: { [`step-${step}`]: "result..." },
      });
      await ctx.sequencer!.incState({ currentStep: 1 });
      return input;
    },
  });

  const researchPipeline = pipeline.then(planner).then(executor).then(executor);
  return researchPipeline;
}

// Blocks that only write have no output to hand on, and are tapped.

export function sharedByTappedBlocks() {
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
      // ctx.sequencer!.state.plan — string[]
      // ctx.sequencer!.state.currentStep — number
      typed(ctx.sequencer!.state.plan).as<string[]>(true);
      typed(ctx.sequencer!.state.currentStep).as<number>(true);
      await ctx.sequencer!.patchState({
        plan: ["search", "analyze", "summarize"],
        currentStep: 0,
      });
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

  const research = pipeline
    .tap(planner)
    // DSL callbacks also see the typed state
    .stepIf((_, ctx) => ctx.sequencer.state.currentStep < 3, executeStep);

  // Every callback that the page names sees a number there, which needs neither `!` nor `?.`.
  pipeline
    .tap(executor)
    .map((_, ctx) => typed(ctx.sequencer.state.currentStep).as<number>(true))
    .tap((_, ctx) => typed(ctx.sequencer.state.currentStep).as<number>(true))
    .tapIf((_, ctx) => ctx.sequencer.state.currentStep < 3, planner)
    .workIf((_, ctx) => ctx.sequencer.state.currentStep < 3, planner)
    .forEach(
      (_, ctx) => ctx.sequencer.state.plan,
      (step, _index, ctx) => (ctx.sequencer.state.findings[step] ? planner : executor),
    )
    .doUntil((_, ctx) => ctx.sequencer.state.currentStep > 3, executeStep)
    .exitIf((_, ctx) => ctx.sequencer.state.currentStep > 3)
    .throwIf(
      (_, ctx) => ctx.sequencer.state.currentStep > 3,
      (_, ctx) => new Error(String(ctx.sequencer.state.currentStep)),
    )
    .branch({
      only: [
        (_, ctx) => ctx.sequencer.state.currentStep,
        (step, ctx) => step < ctx.sequencer.state.currentStep,
        executeStep,
      ],
    })
    .step((_, ctx) => ctx.sequencer.state.plan, executeStep);
  return research;
}

// Checkpoints and slots that stay out of them.

sequencer({
  name: "ephemeral-pipeline",
  durable: false,
  stateSchema: z.object({/* ... */}),
});

export const counter = sequencer({
  name: "counter",
  stateSchema: z.object({
    count: z.number().default(0),
    // Worker-local scratch. Stays in memory but never appears on the SSE
    // stream and resets to its schema default on resume.
    lastClaimed: transientSlot(z.boolean().default(false)),
  }),
}).tap((_, ctx) => {
  typed(ctx.sequencer.state.lastClaimed).as<boolean>(true);
  return ctx.sequencer.patchState({ lastClaimed: true, count: 1 });
});

export const scratch = z.object({
  // Right
  field: transientSlot(z.string().optional()),
});

// Blocks find each other by name.

handler({
  name: "finds-the-planner",
  execute: async (input, ctx) => {
    // Find a previously-executed sibling or ancestor by name
    const plannerResult = ctx.getTarget<{ plan: string[] }>("planner");

    if (plannerResult) {
      const plan = plannerResult.state.plan;
      // Can also mutate the target's state
      await plannerResult.patchState({ plan: [...plan, "extra-step"] });
    }
  },
});
