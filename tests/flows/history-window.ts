/**
 * A session that remembers only its last turns, and a model that is given up for another.
 */

import { defineFlow, generator, handler } from "@flow-state-dev/core";
import { z } from "zod";

export default defineFlow({
  kind: "history-window",
  session: { historyWindow: { turns: 2 } },
  actions: {
    say: { block: handler({ name: "say", inputSchema: z.string(), execute: (text: string, ctx) => { ctx.emit.message(text); } }) },
    read: { block: handler({ name: "read", execute: async (_input, ctx) => ({ history: (await ctx.session.items.history()).map((message: any) => message.content), all: ctx.session.items.all({ itemTypes: ["message"] }).length }) }) },
    fallback: { block: generator({ name: "fallback", model: ["first", "second"], prompt: "Answer." }) },
    budgeted: { tokenBudget: { maxTotalTokens: 100 }, block: generator({ name: "budgeted", model: "tiny", prompt: "Answer.", onCompleted: async (_output, ctx) => { ctx.emit.message(`left ${ctx.request.tokenUsage.remaining}`); } }) },
  },
});
