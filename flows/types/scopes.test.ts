/**
 * The code of the page on scopes, as it is written there, so that it keeps type-checking as it stands.
 *
 * Only what that page leaves open is declared here: a client, a context and some placeholders. A lone `execute` stands in a
 * handler, and a lone scope in a flow. There is nothing to run; `npm run check` is the test. It is not a flow, because it has
 * no default export.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import type { BlockContext, ScopeIdentity as Identity } from "@flow-state-dev/core";
import { z } from "zod";
import { is } from "./expect.js";
import type { Equal } from "./expect.js";

declare const client: { executeAction(flow: string, action: string, request: object): Promise<void> };
declare const ctx: BlockContext;
declare const learnedSomethingNew: boolean;

// Identity. `orgId` is the other name of `projectId`.

type ScopeIdentity = {
  type: "request" | "session" | "user" | "project";
  id: string;
  userId?: string;
  projectId?: string;
};
is<Equal<Omit<Identity, "orgId">, ScopeIdentity>>();

handler({
  name: "identities",
  execute: async (input, ctx) => {
    const sessionId = ctx.session.identity.id;
    const userId = ctx.user.identity.id;
    const projectId = ctx.project?.identity.id;
  },
});

// Client-side action call
await client.executeAction("my-flow", "chat", {
  userId: "user_abc", // Required — who is executing
  sessionId: "sess_123", // Optional — which conversation
  projectId: "proj_team-a", // Optional — which project
  input: { message: "Hello" },
});

// A session's items, journal and resources.

// Everything in the session
const allItems = ctx.session.items.all();

// Items for the client UI (messages, status, errors — not internal block outputs)
const clientItems = ctx.session.items.client();

// Messages formatted for LLM context (async, supports token limiting)
const llmMessages = await ctx.session.items.llm({ limit: { tokens: 20_000 } });

await ctx.session.appendJournal({
  text: "User switched to agent mode",
  source: "mode-router",
  tags: ["mode-change"],
});

const recentEntries = await ctx.session.getJournal({ limit: 10 });

const artifacts = ctx.session.resources.get("artifacts");
const doc = artifacts.state.byId["design-doc"];
export { allItems, clientItems, llmMessages, recentEntries, doc };

// Request state.

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
export { processor };

// User state.

const myFlow = defineFlow({
  kind: "assistant",
  user: {
    stateSchema: z.object({
      preferences: z
        .object({
          responseStyle: z.enum(["concise", "detailed", "technical"]).default("detailed"),
          preferredModel: z.string().default("gpt-5-mini"),
          codeStyle: z
            .object({
              language: z.string().default("typescript"),
              framework: z.string().optional(),
            })
            .default({}),
        })
        .default({}),
    }),
  },
});

handler({
  name: "reads-preferences",
  // In a block — reads preferences regardless of which session:
  execute: async (input, ctx) => {
    const style = ctx.user.state.preferences.responseStyle;
    // Use this to configure model behavior, response formatting, etc.
  },
});

defineFlow({
  kind: "facts",
  user: {
    stateSchema: z.object({
      facts: z
        .array(
          z.object({
            text: z.string(),
            source: z.string(),
            addedAt: z.number(),
          }),
        )
        .default([]),
      expertise: z.array(z.string()).default([]),
    }),
  },
});

handler({
  name: "accumulates-facts",
  // In a block — accumulate facts across conversations:
  execute: async (input, ctx) => {
    if (learnedSomethingNew) {
      await ctx.user.pushState("facts", {
        text: "User prefers functional patterns over OOP",
        source: ctx.session.identity.id,
        addedAt: Date.now(),
      });
    }

    // In any future session, these facts are available:
    const knownFacts = ctx.user.state.facts;
  },
});

defineFlow({
  kind: "snippets",
  user: {
    resources: {
      snippets: {
        stateSchema: z.object({
          byId: z
            .record(
              z.object({
                title: z.string(),
                code: z.string(),
                language: z.string(),
                savedAt: z.number(),
              }),
            )
            .default({}),
        }),
        writable: true,
      },
    },
  },
});

// User saves a snippet in one session, uses it in another:
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
export { myFlow };
