/**
 * A research pipeline on sequencer state.
 *
 * The plan, the findings and the position in the plan belong to one run: the steps share them, a checkpoint keeps them at
 * every step boundary, and they are gone when the run is over. Interrupt it in the middle and resume it: the steps that
 * have finished are not run again.
 */

import { defineFlow, generator, handler, sequencer, transientSlot } from "@flow-state-dev/core";
import { z } from "zod";
import { angles, searchLibrary } from "./lib/library.ts";

const researchInput = z.object({
  question: z.string().min(1).default("How can a city stay cool in summer?").describe("What you want to find out"),
  depth: z.enum(["quick", "thorough"]).default("quick").describe("Quick looks from two angles, thorough from four"),
  pauseMs: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(0)
    .describe("How long each step takes, in milliseconds. Give it a few seconds to have time to interrupt the run."),
});

const pipelineState = z.object({
  plan: z.array(z.string()).default([]),
  currentStep: z.number().default(0),
  findings: z.record(z.string()).default({}),
  // Which angle is being looked at right now means nothing after a resume, so it stays out of every checkpoint.
  lastClaimed: transientSlot(z.string().default("")),
});

const sessionState = z.object({
  reports: z.number().default(0),
});

const userState = z.object({
  recentQuestions: z.array(z.string()).default([]),
});

const report = z.object({
  question: z.string(),
  findings: z.array(z.object({ angle: z.string(), text: z.string() })),
  summary: z.string(),
});

const planner = handler({
  name: "planner",
  inputSchema: researchInput,
  sequencerStateSchema: pipelineState.pick({ plan: true, currentStep: true }),
  execute: async (input, ctx) => {
    const plan = input.depth === "thorough" ? [...angles] : angles.slice(0, 2);
    await ctx.sequencer!.patchState({ plan, currentStep: 0 });
    ctx.emitStatus(`Planned ${plan.length} steps`);
    ctx.emitComponent("plan", { steps: plan }, { key: "plan" });
  },
});

/** Reads the next angle off the plan. The value it returns is all that the following steps need to know. */
const claim = handler({
  name: "claim",
  inputSchema: researchInput,
  sequencerStateSchema: pipelineState.pick({ plan: true, currentStep: true, lastClaimed: true }),
  execute: async (input, ctx) => {
    const { plan, currentStep } = ctx.sequencer!.state;
    const angle = currentAngle(ctx);
    await ctx.sequencer!.patchState({ lastClaimed: angle });
    ctx.emitStatus(`Step ${currentStep + 1} of ${plan.length}: ${angle}`);
    return { angle, question: input.question, pauseMs: input.pauseMs };
  },
});

const look = handler({
  name: "look",
  inputSchema: z.object({ angle: z.string(), question: z.string(), pauseMs: z.number() }),
  execute: async ({ angle, question, pauseMs }, ctx) => {
    if (pauseMs > 0) {
      await new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
    }
    const articles = searchLibrary(`${angle} ${question}`);
    console.log(`${articles.length} articles for ${angle}`);
    ctx.emitMessage(`Read ${articles.map(({ title }) => `“${title}”`).join(" and ") || "nothing"}.`, {
      agentType: "sub",
    });
    return { angle, text: articles.map((article) => article.text).join(" ") || "The library has nothing on this." };
  },
});

/**
 * One finding is set by its key: a patch of `findings` would replace the whole record, because merging is shallow.
 * The position moves last, so that a run interrupted before this point looks from the same angle again.
 */
const record = handler({
  name: "record",
  inputSchema: z.object({ angle: z.string(), text: z.string() }),
  sequencerStateSchema: pipelineState.pick({ currentStep: true, findings: true }),
  execute: async (finding, ctx) => {
    await ctx.sequencer!.setStateRecord("findings", finding.angle, finding.text);
    await ctx.sequencer!.incState({ currentStep: 1 });
  },
});

/** Has no state of its own, so `ctx.sequencer` in its steps is the pipeline around it. */
const investigate = sequencer({ name: "investigate", inputSchema: researchInput }).step(claim).step(look).tap(record);

const summarize = handler({
  name: "summarize",
  inputSchema: researchInput,
  outputSchema: report,
  sequencerStateSchema: pipelineState.pick({ plan: true, findings: true }),
  execute: async (input, ctx) => {
    const { plan, findings } = ctx.sequencer!.state;
    const collected = plan.map((angle) => ({ angle, text: findings[angle] ?? "" }));
    const first = collected.map(({ text }) => text.split(". ")[0]?.replace(/\.$/, "")).filter(Boolean);
    return { question: input.question, findings: collected, summary: `${first.join(". ")}.` };
  },
});

const publish = handler({
  name: "publish",
  inputSchema: report,
  sessionStateSchema: sessionState,
  userStateSchema: userState,
  execute: async (finished, ctx) => {
    ctx.emitComponent("research-report", finished);
    ctx.emitMessage(finished.summary);
    await ctx.session.incState({ reports: 1 });
    // The newest five, each once.
    await ctx.user.patchState("recentQuestions", (questions) =>
      [finished.question, ...questions.filter((question) => question !== finished.question)].slice(0, 5),
    );
    await ctx.session.appendJournal({
      text: `Reported on “${finished.question}” from ${finished.findings.length} angles.`,
      source: "publish",
      tags: ["report"],
    });
  },
});

const pipeline = sequencer({ name: "research-pipeline", inputSchema: researchInput, stateSchema: pipelineState });

/** What the callbacks below need of their context, whichever sequencer they stand in. */
type InPipeline = { sequencer?: { state: Pick<z.output<typeof pipelineState>, "plan" | "currentStep"> } | undefined };

const currentAngle = (ctx: InPipeline) => ctx.sequencer?.state.plan[ctx.sequencer.state.currentStep] ?? "background";

const hasMore = (_: unknown, ctx: InPipeline) =>
  ctx.sequencer?.state.plan[ctx.sequencer.state.currentStep] !== undefined;

/** The steps stand one after another, because a plan never has more than four. */
const research = pipeline
  .tap(planner)
  .tap(investigate)
  .tap(investigate)
  .tapIf(hasMore, investigate)
  .tapIf(hasMore, investigate)
  .step(summarize)
  .tap(publish);

/** Speaks as nobody: its answer only flows on in the chain, and the conversation never shows it. */
const planningModel = generator({
  name: "planning-model",
  model: "gpt-5-mini",
  inputSchema: researchInput,
  outputSchema: z.object({ steps: z.array(z.string()).min(1).max(4) }),
  prompt: "Break the question into at most four lines of research. Name each one in a few words.",
  user: (input) => input.question,
});

const keepPlan = handler({
  name: "keep-plan",
  inputSchema: z.object({ steps: z.array(z.string()) }),
  sequencerStateSchema: pipelineState.pick({ plan: true, currentStep: true }),
  execute: async ({ steps }, ctx) => {
    await ctx.sequencer!.patchState({ plan: steps, currentStep: 0 });
  },
});

const searchTool = handler({
  name: "search-library",
  description: "Finds articles in the library by words.",
  inputSchema: z.object({ query: z.string().describe("The words to look for") }),
  execute: ({ query }) => searchLibrary(query).map(({ title, text }) => ({ title, text })),
});

const nextAngle = handler({
  name: "next-angle",
  inputSchema: researchInput,
  sequencerStateSchema: pipelineState.pick({ plan: true, currentStep: true }),
  execute: (input, ctx) => ({ angle: currentAngle(ctx), question: input.question }),
});

/** Works for the writer: the user may watch it, but what it says is no part of the conversation. */
const investigator = generator({
  name: "investigator",
  agentType: "sub",
  model: "gpt-5-mini",
  inputSchema: z.object({ angle: z.string(), question: z.string() }),
  prompt: "Answer the question from one angle, in one sentence. Use the library before you answer.",
  user: ({ angle, question }) => `${question} Look at it from this angle: ${angle}.`,
  tools: [searchTool],
});

/** Everything happens beside the chain, so the value stays the input and the loop can start over with it. */
const investigateWithModel = sequencer({ name: "investigate-with-model", inputSchema: researchInput }).tap(
  sequencer({ name: "one-angle", inputSchema: researchInput, sequencerStateSchema: pipelineState })
    .step(nextAngle)
    .step(investigator)
    .tap((text, ctx) => ({ angle: currentAngle(ctx), text }), record),
);

const writer = generator({
  name: "writer",
  agentType: "primary",
  model: "gpt-5-mini",
  inputSchema: report,
  prompt: "Write a short answer to the question. Use only the findings.",
  user: (draft) =>
    [`Question: ${draft.question}`, ...draft.findings.map(({ angle, text }) => `Finding on ${angle}: ${text}`)].join(
      "\n",
    ),
});

const planWithModel = sequencer({ name: "plan-with-model", inputSchema: researchInput })
  .step(planningModel)
  .tap(keepPlan);

/** The plan decides how often the loop runs; the limit is there for a model that plans too much. */
const researchWithModel = pipeline
  .tap(planWithModel)
  .step(investigateWithModel)
  .loopBack("investigate-with-model", { when: hasMore, maxIterations: 3 })
  .step(summarize)
  .step(writer)
  .map((answer) => ({ answer }));

export default defineFlow({
  kind: "research",
  session: { stateSchema: sessionState },
  user: { stateSchema: userState },
  actions: {
    research: {
      description: "Answer a question from the library on the shelf, without a model.",
      inputSchema: researchInput,
      userMessage: (input) => input.question,
      block: research,
    },
    ask: {
      description: "Answer a question with a model that plans, searches and writes.",
      inputSchema: researchInput,
      userMessage: (input) => input.question,
      block: researchWithModel,
    },
  },
});
