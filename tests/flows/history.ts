/**
 * What a session remembers: its views across requests, and what a model is told of it.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const says = z.object({ text: z.string(), agentType: z.enum(["primary", "sub", "trace"]).optional(), agentName: z.string().optional() });

const say = handler({
  name: "say",
  inputSchema: says,
  execute: ({ text, ...options }, ctx) => {
    ctx.emit.message(text, options);
    ctx.emit.status("working");
    ctx.emit.component("card", { text });
  },
});

const textOf = ({ payload, content }: any) => (typeof payload === "string" ? payload : (content?.[0]?.text ?? ""));

/** Answers what a view holds, for a query given as input. */
const ask = handler({
  name: "ask",
  inputSchema: z.object({ view: z.string(), query: z.any().optional() }),
  execute: async ({ view, query }, ctx) => {
    const items = ctx.session.items as any;
    const found = await items[view](query);
    if (view === "history" || view === "llm") return found;
    return found.map((item: any) => `${item.type} ${textOf(item)}`.trim());
  },
});

const bot = (name: string, more: object) => generator({ name, model: "tiny", agentType: "primary", prompt: "You listen.", inputSchema: z.object({ message: z.string() }), ...more });
const weigh = handler({ name: "weigh", description: "Weighs", inputSchema: z.object({ grams: z.number() }), execute: ({ grams }) => { if (grams < 0) throw new Error("too light"); return { kilos: grams / 1000 }; } });
const message = (input: { message: string }) => input.message;

export default defineFlow({
  kind: "history",
  actions: {
    say: { block: say },
    sayTwice: { block: sequencer({ name: "sayTwice", inputSchema: says }).tap(say).tap((value) => ({ ...value, text: `${value.text} again` }), say) },
    sayAndFail: { block: sequencer({ name: "sayAndFail", inputSchema: says }).tap(say).step(handler({ name: "fails", execute: () => { throw new Error("no"); } })) },
    ask: { block: ask },
    sayAndAsk: { block: sequencer({ name: "sayAndAsk", inputSchema: z.any() }).tap((value) => ({ text: value.text }), say).step(ask) },
    shape: { block: handler({ name: "shape", execute: (_input, ctx) => ctx.session.items.all().map(({ id, ts, requestId, ...rest }: any) => ({ ...rest, known: typeof id === "string" && typeof ts === "number" && typeof requestId === "string" })) }) },
    chat: { block: bot("chat", { history: true, user: message }), userMessage: message },
    chatNoMessage: { block: bot("chatNoMessage", { history: true, user: message }) },
    chatLimited: { block: bot("chatLimited", { history: { limit: { turns: 1 } }, user: message }), userMessage: message },
    chatFunction: { block: bot("chatFunction", { history: async (_input: unknown, ctx: any) => [{ role: "user", content: "made up" }, ...(await ctx.session.items.history({ limit: 1 }))], user: message }) },
    chatTools: { block: bot("chatTools", { history: true, user: message, tools: [weigh] }), userMessage: message },
    twice: { block: sequencer({ name: "twice", inputSchema: z.object({ message: z.string() }) }).tap(bot("asker", { user: message })).step(bot("reader", { history: true })) },
  },
});
