/**
 * The scopes guide's snippets as they stand, with what they leave out given.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const processor = handler({
  name: "processor",
  requestStateSchema: z.object({
    retryCount: z.number().default(0),
    intermediateResult: z.string().optional(),
  }),
  execute: async (input, ctx) => {
    // Scratch space for this execution only
    await ctx.request.patchState({ intermediateResult: "step-1-done" });

    // This state won't exist in the next request
    return { result: ctx.request.state.intermediateResult };
  },
});

const scratch = handler({ name: "scratch", execute: (_input, ctx) => ({ result: ctx.request.state.intermediateResult ?? "gone", retryCount: ctx.request.state.retryCount }) });

const identities = handler({
  name: "identities",
  execute: async (input, ctx) => {
    const sessionId = ctx.session.identity.id;
    const userId = ctx.user.identity.id;
    const projectId = ctx.project?.identity.id;
    return { sessionId, userId, projectId: projectId ?? "none" };
  },
});

const views = handler({
  name: "views",
  execute: async (_input, ctx) => {
    ctx.emitMessage("first");
    ctx.emitMessage("unseen", { agentType: "trace" });

    // Everything in the session
    const allItems = ctx.session.items.all();

    // Items for the client UI (messages, status, errors — not internal block outputs)
    const clientItems = ctx.session.items.client();

    // Messages formatted for LLM context (async, supports token limiting)
    const llmMessages = await ctx.session.items.llm({ limit: { tokens: 20_000 } });

    return { all: allItems.length, client: clientItems.length, llm: llmMessages };
  },
});

const journal = handler({
  name: "journal",
  execute: async (_input, ctx) => {
    await ctx.session.appendJournal({
      text: "User switched to agent mode",
      source: "mode-router",
      tags: ["mode-change"],
    });

    const recentEntries = await ctx.session.getJournal({ limit: 10 });
    return recentEntries.map(({ text, source, tags }: any) => ({ text, source, tags }));
  },
});

const style = handler({
  name: "style",
  execute: async (input, ctx) => {
    const style = ctx.user.state.preferences.responseStyle;
    // Use this to configure model behavior, response formatting, etc.
    return { style, language: ctx.user.state.preferences.codeStyle.language };
  },
});

const learn = handler({
  name: "learn",
  execute: async (input, ctx) => {
    const learnedSomethingNew = true;
    if (learnedSomethingNew) {
      await ctx.user.pushState("facts", {
        text: "User prefers functional patterns over OOP",
        source: ctx.session.identity.id,
        addedAt: Date.now(),
      });
    }

    // In any future session, these facts are available:
    const knownFacts = ctx.user.state.facts;
    return knownFacts.map(({ text, source }: any) => ({ text, source }));
  },
});

const team = handler({
  name: "team",
  execute: async (input, ctx) => {
    const teamConfig = ctx.project?.state.config;
    if (!teamConfig) {
      // Fall back to user-level or default configuration
    }
    const budget = ctx.project?.state.config.maxTokenBudget ?? 100_000;
    const instructions = ctx.project?.state.config.customInstructions ?? "";
    // Project config takes precedence over user preferences
    const model = ctx.project?.state.config.allowedModels?.[0]
      ?? ctx.user.state.preferences.preferredModel
      ?? "gpt-5-mini";
    return { budget, instructions, model, webSearch: teamConfig?.features.webSearch ?? "no team" };
  },
});

const instruct = handler({
  name: "instruct",
  execute: async (input, ctx) => {
    await ctx.project!.patchState({ config: { ...ctx.project!.state.config, allowedModels: ["big-model"], customInstructions: "Be brief." } });
  },
});

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

const researchPipeline = pipeline
  .then(planner)
  .then(executor)
  .then(executor);

const ownPlan = handler({
  name: "planner",
  stateSchema: z.object({ plan: z.array(z.string()).default(["search"]) }),
  execute: (input) => input,
});

const finder = handler({
  name: "finder",
  execute: async (input, ctx) => {
    // Find a previously-executed sibling or ancestor by name
    const plannerResult = ctx.getTarget<{ plan: string[] }>("planner");

    if (plannerResult) {
      const plan = plannerResult.state.plan;
      // Can also mutate the target's state
      await plannerResult.patchState({ plan: [...plan, "extra-step"] });
    }
    return ctx.getTarget<{ plan: string[] }>("planner")?.state.plan;
  },
});

const chatPipeline = sequencer({ name: "chat-pipeline", inputSchema: z.object({ message: z.string() }) })
  .tap(handler({
    name: "all-four",
    execute: async ({ message }, ctx) => {
      await ctx.request.patchState({ processingStage: "reading" });
      await ctx.session.incState({ messageCount: 1 });
      await ctx.user.pushState("recentTopics", message);
      ctx.emitMessage(`${ctx.project?.state.config.systemPrompt ?? "On my own."} ${ctx.request.state.processingStage}`);
    },
  }))
  .map((_input, ctx) => ({ mode: ctx.session.state.mode, count: ctx.session.state.messageCount, topics: ctx.user.state.recentTopics }));

export default defineFlow({
  kind: "guide-scopes",
  request: {
    stateSchema: z.object({
      processingStage: z.string().optional(),
    }),
  },
  session: {
    stateSchema: z.object({
      mode: z.enum(["chat", "agent", "review"]).default("chat"),
      messageCount: z.number().default(0),
    }),
  },
  user: {
    stateSchema: z.object({
      preferences: z.object({
        responseStyle: z.enum(["concise", "detailed", "technical"]).default("detailed"),
        preferredModel: z.string().default("gpt-5-mini"),
        codeStyle: z.object({
          language: z.string().default("typescript"),
          framework: z.string().optional(),
        }).default({}),
      }).default({}),
      recentTopics: z.array(z.string()).default([]),
      facts: z.array(z.object({
        text: z.string(),
        source: z.string(),
        addedAt: z.number(),
      })).default([]),
      expertise: z.array(z.string()).default([]),
    }),
  },
  project: {
    stateSchema: z.object({
      config: z.object({
        systemPrompt: z.string().default("You are a helpful assistant."),
        maxTokens: z.number().default(4096),
        allowedModels: z.array(z.string()).default(["gpt-5-mini"]),
        maxTokenBudget: z.number().default(100_000),
        customInstructions: z.string().default(""),
        features: z.object({
          codeExecution: z.boolean().default(false),
          webSearch: z.boolean().default(true),
        }).default({}),
      }).default({}),
    }),
  },
  actions: {
    processor: { block: processor },
    scratch: { block: scratch },
    identities: { block: identities },
    views: { block: views },
    journal: { block: journal },
    style: { block: style },
    learn: { block: learn },
    team: { block: team },
    instruct: { block: instruct },
    research: { block: researchPipeline },
    find: { block: sequencer({ name: "outer", inputSchema: z.any() }).then(ownPlan).then(finder) },
    findNothing: { block: sequencer({ name: "outer", inputSchema: z.any() }).then(finder).map((found) => found ?? "undefined") },
    chat: {
      steps: chatPipeline, // sequencer that uses all four scopes
    },
  },
});
