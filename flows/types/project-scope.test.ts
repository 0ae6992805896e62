/**
 * The code of the page on scopes, as it is written there: projects, looking a value up across scopes, and all four together.
 *
 * Only what that page leaves open is declared here: a context and a chain. A lone `execute` stands in a handler, and a lone
 * scope in a flow. There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import type { Block, BlockContext } from "@flow-state-dev/core";
import { z } from "zod";

declare const ctx: BlockContext;
declare const chatPipeline: Block;

// Project state and resources.

handler({
  name: "depends-on-project",
  execute: async (input, ctx) => {
    const teamConfig = ctx.project?.state.config;
    if (!teamConfig) {
      // Fall back to user-level or default configuration
    }
  },
});

const myFlow = defineFlow({
  kind: "team-assistant",
  project: {
    stateSchema: z.object({
      config: z
        .object({
          allowedModels: z.array(z.string()).default(["gpt-5-mini"]),
          maxTokenBudget: z.number().default(100_000),
          customInstructions: z.string().default(""),
          features: z
            .object({
              codeExecution: z.boolean().default(false),
              webSearch: z.boolean().default(true),
            })
            .default({}),
        })
        .default({}),
    }),
  },
});
export { myFlow };

handler({
  name: "reads-config",
  // Any user in the project sees the same configuration:
  execute: async (input, ctx) => {
    const budget = ctx.project?.state.config.maxTokenBudget ?? 100_000;
    const instructions = ctx.project?.state.config.customInstructions ?? "";
  },
});

defineFlow({
  kind: "knowledge",
  project: {
    resources: {
      knowledgeBase: {
        stateSchema: z.object({
          articles: z
            .record(
              z.object({
                title: z.string(),
                content: z.string(),
                author: z.string(),
                updatedAt: z.number(),
                tags: z.array(z.string()),
              }),
            )
            .default({}),
          index: z.array(z.string()).default([]),
        }),
        writable: true,
      },
    },
  },
});

// Any team member can contribute to and read from the knowledge base:
const kb = ctx.project?.resources?.get("knowledgeBase");
if (kb) {
  await kb.patchState({
    articles: {
      ...kb.state.articles,
      "api-conventions": {
        title: "API Naming Conventions",
        content: "All endpoints follow REST conventions...",
        author: ctx.user.identity.id,
        updatedAt: Date.now(),
        tags: ["api", "conventions"],
      },
    },
    index: [...kb.state.index, "api-conventions"],
  });
}

// Looking a value up across scopes.

handler({
  name: "project-first",
  execute: async (input, ctx) => {
    // Project config takes precedence over user preferences
    const model =
      ctx.project?.state.config.allowedModels?.[0] ?? ctx.user.state.preferences.preferredModel ?? "gpt-5-mini";
  },
});

handler({
  name: "every-scope",
  execute: async (input, ctx) => {
    ctx.request; // Always available — RequestScopeHandle
    ctx.session; // Always available — SessionScopeHandle
    ctx.user; // Always available — UserScopeHandle
    ctx.project; // Optional — ProjectScopeHandle | undefined
    ctx.sequencer; // Optional — TargetHandle | undefined (when inside a sequencer with stateSchema)

    ctx.getTarget("block-name"); // Find sibling/ancestor by name — TargetHandle | undefined
  },
});

handler({
  name: "narrowest-first",
  execute: async (input, ctx) => {
    // Request override → session setting → user preference → project default
    const model =
      ctx.request.state.modelOverride ??
      ctx.session.state.currentModel ??
      ctx.user.state.preferences.preferredModel ??
      ctx.project?.state.config.defaultModel ??
      "gpt-5-mini";
  },
});

// All four together.

export const teamAssistant = defineFlow({
  kind: "team-assistant",
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
      preferences: z
        .object({
          responseStyle: z.enum(["concise", "detailed"]).default("detailed"),
        })
        .default({}),
      recentTopics: z.array(z.string()).default([]),
    }),
  },
  project: {
    stateSchema: z.object({
      config: z
        .object({
          systemPrompt: z.string().default("You are a helpful assistant."),
          maxTokens: z.number().default(4096),
        })
        .default({}),
    }),
  },
  actions: {
    chat: {
      steps: chatPipeline, // sequencer that uses all four scopes
    },
  },
});
