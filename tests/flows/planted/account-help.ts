/** Questions about a bank account. A question that was answered before is answered from memory, without a model. */
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const ask = z.object({ question: z.string().min(1) });
const known = ask.extend({ answer: z.string().optional() });
const orgState = z.object({ answers: z.record(z.string()).default({}) });

const BALANCES: Record<string, number> = { ada: 1250, bob: 80 };

/** "What is my balance" and "what is my  balance?" are one question. */
const keyOf = (question: string) =>
  question
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, " ")
    .trim();

const recall = handler({
  name: "recall",
  inputSchema: ask,
  outputSchema: known,
  orgStateSchema: orgState,
  execute: ({ question }, ctx) => ({ question, answer: ctx.org.state.answers[keyOf(question)] }),
});

const answerer = generator({
  name: "answerer",
  model: "gpt-5-mini",
  inputSchema: known,
  prompt: "Answer the customer's question about their account in one sentence.",
  context: { balance: (_input, ctx) => `${BALANCES[ctx.user.identity.id] ?? 0} EUR` },
  user: ({ question }) => question,
});

const remember = handler({
  name: "remember",
  inputSchema: z.object({ question: z.string(), answer: z.string() }),
  orgStateSchema: orgState,
  execute: async ({ question, answer }, ctx) => {
    await ctx.org.setStateRecord("answers", keyOf(question), answer);
  },
});

const keepQuestion = handler({ name: "keep-question", inputSchema: known, execute: ({ question }) => question });

const answerNew = sequencer({ name: "answer-new", inputSchema: known })
  .parallel({ question: keepQuestion, answer: answerer })
  .tap(remember);

const reply = handler({
  name: "reply",
  inputSchema: known,
  execute: ({ answer }, ctx) => {
    ctx.emit.message(answer ?? "We cannot answer this.");
    return { answer };
  },
});

const help = sequencer({ name: "help", inputSchema: ask })
  .step(recall)
  .stepIf((found) => found.answer === undefined, answerNew)
  .step(reply);

export default defineFlow({
  kind: "account-help",
  org: { stateSchema: orgState },
  actions: { ask: { inputSchema: ask, block: help } },
});
