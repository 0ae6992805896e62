/**
 * Resources as the scopes guide writes them: declared with their scope, reached through the scope's handle.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";

const saveSnippet = handler({
  name: "save-snippet",
  execute: async (input, ctx) => {
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
  },
});

const listSnippets = handler({ name: "list-snippets", execute: (_input, ctx) => Object.keys(ctx.user.resources.get("snippets").state.byId) });

const addArticle = handler({
  name: "add-article",
  execute: async (input, ctx) => {
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
  },
});

const readArticles = handler({
  name: "read-articles",
  execute: (_input, ctx) => {
    const kb = ctx.project?.resources?.get("knowledgeBase");
    return kb ? { index: kb.state.index, author: kb.state.articles["api-conventions"]?.author } : "no project";
  },
});

const readDesign = handler({
  name: "read-design",
  execute: async (input, ctx) => {
    const artifacts = ctx.session.resources.get("artifacts");
    const before = artifacts.state.byId["design-doc"];
    await artifacts.patchState({ byId: { ...artifacts.state.byId, "design-doc": { text: "Draft" } } });
    const doc = artifacts.state.byId["design-doc"];
    return [before ?? "nothing yet", doc];
  },
});

export default defineFlow({
  kind: "guide-resources",
  session: {
    resources: {
      artifacts: { stateSchema: z.object({ byId: z.record(z.object({ text: z.string() })).default({}) }), writable: true },
    },
  },
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
  project: {
    resources: {
      knowledgeBase: {
        stateSchema: z.object({
          articles: z.record(z.object({
            title: z.string(),
            content: z.string(),
            author: z.string(),
            updatedAt: z.number(),
            tags: z.array(z.string()),
          })).default({}),
          index: z.array(z.string()).default([]),
        }),
        writable: true,
      },
    },
  },
  actions: {
    saveSnippet: { block: saveSnippet },
    listSnippets: { block: listSnippets },
    addArticle: { block: addArticle },
    readArticles: { block: readArticles },
    readDesign: { block: readDesign },
  },
});
