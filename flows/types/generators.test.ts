/**
 * Generators: models, prompts, tools, identity and repair.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { generator, handler } from "@flow-state-dev/core";
import type { Block, BlockOutput, GeneratorModel, ModelMessage } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

const search = handler({
  name: "search",
  description: "Looks something up",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => [query],
});

// A reply is text, or what the schema says.

const text = generator({ name: "text", model: "m", prompt: "p" });
is<Equal<BlockOutput<typeof text>, string>>();
const structured = generator({
  name: "structured",
  model: "m",
  inputSchema: z.object({ hard: z.boolean() }),
  outputSchema: z.enum(["A", "B"]),
  prompt: "p",
  onCompleted: (output, ctx, meta) => {
    typed(output).as<"A" | "B">(true);
    typed(ctx.attempt).as<number>(true);
    typed(meta?.model?.actual).as<string | undefined>(true);
  },
});
is<Equal<typeof structured, Block<{ hard: boolean }, "A" | "B">>>();
const modern = generator({
  name: "modern",
  model: "m",
  prompt: "p",
  outputSchema: z4.object({ score: z4.number().default(1) }),
});
is<Equal<BlockOutput<typeof modern>, { score: number }>>();

// Every form of a model.

const streaming: GeneratorModel = {
  modelId: "streams",
  async *streamStep({ stepNumber }) {
    yield { type: "text_delta", delta: `step ${stepNumber}` };
    yield { type: "finish", fullResult: { text: `step ${stepNumber}`, usage: { completionTokens: 2 } } };
  },
};
generator({ name: "streams", prompt: "…", model: streaming });
// @ts-expect-error A model answers in at least one way.
const mute: GeneratorModel = { modelId: "mute" };
void mute;

const stepping: GeneratorModel = {
  modelId: "steps",
  generateStep: async ({ stepNumber, messages }) =>
    stepNumber === 0
      ? { toolCalls: [{ toolName: "search", args: { query: "tea" } }] }
      : { text: String(messages.at(-1)?.content), usage: { promptTokens: 4, completionTokens: 2 } },
};
generator({ name: "one", model: "gpt-5-mini", prompt: "p" });
generator({ name: "several", model: ["small", "large"], prompt: "p" });
generator({ name: "preferred", model: { model: "small", preferProvider: "here" }, prompt: "p" });
generator({ name: "own", model: stepping, prompt: "p" });
generator({ name: "whole", model: { modelId: "once", generate: async () => ({ text: "done" }) }, prompt: "p" });
generator({
  name: "chosen",
  inputSchema: z.object({ hard: z.boolean() }),
  userStateSchema: z.object({ model: z.string() }),
  model: (input, ctx) => (input.hard ? ["large", "small"] : ctx.user.state.model),
  prompt: "p",
});
generator({ name: "chosen-late", model: async () => stepping, prompt: "p" });
// @ts-expect-error An object is a model only with a `modelId` and a function.
generator({ name: "nameless", model: { generate: async () => ({ text: "x" }) }, prompt: "p" });
// @ts-expect-error A function has to choose a model.
generator({ name: "undecided", model: () => 1, prompt: "p" });

// What the model is told, and what it may do.

generator({
  name: "everything",
  model: "m",
  inputSchema: z.object({ topic: z.string(), hard: z.boolean().default(false) }),
  sessionStateSchema: z.object({ stage: z.string() }),
  stateSchema: z.object({ log: z.array(z.string()) }),
  prompt: ["First.", () => null, async (input, ctx) => `${input.topic} in ${ctx.session.state.stage}`, null],
  context: [
    "A line of its own",
    { role: "system", content: "A message of its own" },
    (input, ctx) => `${input.topic} ${ctx.self.state.log.length}`,
    { aboutUser: "Ada", facts: ["one", "two"], nested: { deepPart: (input) => input.topic }, kept: null },
    null,
  ],
  history: { limit: { turns: 3 }, agentName: "me" },
  user: (input) => [{ role: "user", content: input.topic }],
  tools: (input) => (input.hard ? [search, text.asTool({ agentName: "writer" })] : []),
  agentType: "primary",
  agentName: "me",
  loop: { maxIterations: 3, runTools: true, stopWhen: (step) => step.toolCalls.length === 0 || step.steps.length > 2 },
  maxIterations: 4,
  maxTokens: 100,
  repair: { mode: "auto", maxAttempts: 2, coerce: { model: "small" } },
  repairOutput: (candidate, error, state, ctx) => [candidate.text, error.message, state, ctx.self.state.log],
  flowTools: {
    defaults: { timeoutMs: 100, concurrency: "serial", retry: { maxAttempts: 2, retryableErrors: [TypeError] } },
    onToolStarted: ({ toolName, input }, ctx) => ctx.emitStatus(`${toolName} ${input.query}`),
    onToolErrored: handler({ name: "note-failure", execute: (event) => event.error }),
  },
  caching: { enabled: true, breakpoints: "auto", ttl: "5m" },
  describeTools: false,
  providerOptions: ({ hard }) => ({ temperature: hard ? 0 : 1, anthropic: { x: 1 } }),
});
const pay = handler({
  name: "pay",
  inputSchema: z.object({ eur: z.number() }),
  approval: {
    required: async ({ eur }, ctx) => eur > 20 && ctx.attempt === 0,
    message: ({ eur }) => `Pay ${eur} EUR?`,
    render: { component: "payment", props: { big: true } },
  },
  execute: ({ eur }) => eur,
});
generator({ name: "careful", model: "m", tools: [pay], toolApproval: "all" });
generator({
  name: "ruled",
  model: "m",
  tools: [pay],
  toolApproval: { autoApprove: ["pay"], require: (call) => call.toolName === "pay", timeoutMs: 60_000 },
});
generator({ name: "quiet", model: "m", prompt: null, itemVisibility: { client: true, history: false }, history: true });
generator({
  name: "made-up-history",
  model: "m",
  prompt: "p",
  history: async (_input, ctx) => [{ role: "user", content: "before" }, ...ctx.session.items.history({ limit: 1 })],
});

// @ts-expect-error There are three kinds of agent.
generator({ name: "who", model: "m", prompt: "p", agentType: "observer" });
// @ts-expect-error Visibility says both who sees it and whether it is remembered.
generator({ name: "half", model: "m", prompt: "p", itemVisibility: { client: true } });
generator({ name: "speechless", model: "m" });
// @ts-expect-error An option that there is not. A temperature belongs into `providerOptions`.
generator({ name: "warm", model: "m", prompt: "p", temperature: 1 });
// @ts-expect-error A misspelt option inside.
generator({ name: "cached", model: "m", prompt: "p", caching: { enable: true } });
// @ts-expect-error There are three ways to treat a reply that does not fit.
generator({ name: "strict", model: "m", prompt: "p", repair: { mode: "always" } });
// @ts-expect-error Tools are blocks, not names.
generator({ name: "named-tools", model: "m", prompt: "p", tools: ["search"] });
// @ts-expect-error Tools run side by side or one by one.
generator({ name: "hasty", model: "m", prompt: "p", flowTools: { defaults: { concurrency: "fast" } } });
// @ts-expect-error There is no such policy.
generator({ name: "anxious", model: "m", prompt: "p", toolApproval: "always" });
// @ts-expect-error Approval is asked, or it is decided by a function.
handler({ name: "asked", approval: { required: "yes" }, execute: () => 1 });
// @ts-expect-error A history is limited by turns, by tokens, or by a number of items.
generator({ name: "remembers", model: "m", prompt: "p", history: { limit: { days: 3 } } });

// Handlers may ask models, too.

handler({
  name: "asks",
  execute: async (_input, ctx) => {
    const messages: ModelMessage[] = [{ role: "user", content: "Hi" }];
    const reply = await ctx.resolveModel("small").generate({ messages });
    typed(reply.text).as<string | undefined>(true);
    typed(ctx.resolveModel.resolveId("small")).as<string>(true);
    typed(ctx.request.tokenUsage.byModel.small?.total).as<number | undefined>(true);
  },
});
