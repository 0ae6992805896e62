/**
 * The code of the documents this API follows, as it is written there, so that it keeps type-checking as it stands: scopes.
 *
 * Only what those pages leave open is declared here: a client, a context and some placeholders.
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import type { Block, BlockContext, ScopeIdentity } from "@flow-state-dev/core";
import { z } from "zod";

declare const client: { executeAction(flow: string, action: string, request: object): Promise<void> };
declare const ctx: BlockContext;
declare const learnedSomethingNew: boolean;
declare const chatPipeline: Block;

// Scopes: identity.

export const identities = handler({
  name: "identities",
  execute: async (input, ctx) => {
    const sessionId = ctx.session.identity.id;
    const userId = ctx.user.identity.id;
    const projectId = ctx.project?.identity.id;
    const identity: ScopeIdentity = ctx.session.identity;
    return { sessionId, userId, projectId, identity };
  },
});

export async function calls() {
  await client.executeAction("my-flow", "chat", {
    userId: "user_abc",
    sessionId: "sess_123",
    projectId: "proj_team-a",
    input: { message: "Hello" },
  });
}

// Scopes: the session's items, journal and resources.

export async function session() {
  const allItems = ctx.session.items.all();
  const clientItems = ctx.session.items.client();
  const llmMessages = await ctx.session.items.llm({ limit: { tokens: 20_000 } });

  await ctx.session.appendJournal({
    text: "User switched to agent mode",
    source: "mode-router",
    tags: ["mode-change"],
  });

  const recentEntries = await ctx.session.getJournal({ limit: 10 });

  const artifacts = ctx.session.resources.get("artifacts");
  const doc = artifacts.state.byId["design-doc"];
  return { allItems, clientItems, llmMessages, recentEntries, doc };
}

// Scopes: request state.

export const processor = handler({
  name: "processor",
  requestStateSchema: z.object({
    retryCount: z.number().default(0),
    intermediateResult: z.string().optional(),
  }),
  execute: async (input, ctx) => {
    await ctx.request.patchState({ intermediateResult: "step-1-done" });
    return { result: ctx.request.state.intermediateResult };
  },
});

// Scopes: user state.

export const assistant = defineFlow({
  kind: "assistant",
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
    }),
  },
});

export const remember = handler({
  name: "remember",
  execute: async (input, ctx) => {
    const style = ctx.user.state.preferences.responseStyle;
    if (learnedSomethingNew) {
      await ctx.user.pushState("facts", {
        text: "User prefers functional patterns over OOP",
        source: ctx.session.identity.id,
        addedAt: Date.now(),
      });
    }
    const knownFacts = ctx.user.state.facts;
    return { style, knownFacts };
  },
});

export const library = defineFlow({
  kind: "library",
  user: {
    resources: {
      snippets: {
        stateSchema: z.object({
          byId: z.record(z.object({
            title: z.string(),
            code: z.string(),
            language: z.string(),
            savedAt: z.number(),
          })).default({}),
        }),
        writable: true,
      },
    },
  },
});

export async function saveSnippet() {
  const snippets = ctx.user.resources.get("snippets");
  await snippets.patchState({
    byId: {
      ...snippets.state.byId,
      "auth-helper": {
        title: "JWT Auth Middleware",
        code: "export function authMiddleware...",
        language: "typescript",
        savedAt: Date.now(),
      },
    },
  });
}

// Scopes: project state and resources.

export const configured = handler({
  name: "configured",
  execute: async (input, ctx) => {
    const teamConfig = ctx.project?.state.config;
    if (!teamConfig) {
      return undefined;
    }
    const budget = ctx.project?.state.config.maxTokenBudget ?? 100_000;
    const instructions = ctx.project?.state.config.customInstructions ?? "";
    const model = ctx.project?.state.config.allowedModels?.[0]
      ?? ctx.user.state.preferences.preferredModel
      ?? "gpt-5-mini";
    return { budget, instructions, model };
  },
});

export async function contribute() {
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
}

// Resolution across scopes, and all four together.

export const resolver = handler({
  name: "resolver",
  execute: async (input, ctx) => {
    const model =
      ctx.request.state.modelOverride ??
      ctx.session.state.currentModel ??
      ctx.user.state.preferences.preferredModel ??
      ctx.project?.state.config.defaultModel ??
      "gpt-5-mini";
    return model;
  },
});

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
      preferences: z.object({
        responseStyle: z.enum(["concise", "detailed"]).default("detailed"),
      }).default({}),
      recentTopics: z.array(z.string()).default([]),
    }),
  },
  project: {
    stateSchema: z.object({
      config: z.object({
        systemPrompt: z.string().default("You are a helpful assistant."),
        maxTokens: z.number().default(4096),
      }).default({}),
    }),
  },
  actions: {
    chat: {
      steps: chatPipeline, // sequencer that uses all four scopes
    },
  },
});
