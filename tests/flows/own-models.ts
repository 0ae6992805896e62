// Models that are a flow's own code, models that a handler asks itself, and answers that are used again.
import { defineFlow, generator, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const search = handler({
  name: 'search',
  inputSchema: z.object({ q: z.string() }),
  execute: ({ q }) => `results for ${q}`,
});

// A model that answers step by step: the loop around it is the engine's, so its tools really run.
const stepping = generator({
  name: 'stepping',
  prompt: 'Look it up.',
  tools: [search],
  model: {
    modelId: 'steps',
    generateStep: async ({ stepNumber, messages }: any) =>
      stepNumber === 0
        ? { toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'tea' } }] }
        : { text: JSON.stringify(messages.at(-1).content), usage: { promptTokens: 4, completionTokens: 2 } },
  },
});

// A model that answers once: its tool calls are reported, not run.
const whole = generator({
  name: 'whole',
  prompt: 'Answer.',
  tools: [search],
  model: () => ({
    modelId: 'once',
    generate: async () => ({ text: 'done', toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'x' } }] }),
  }),
});

const asking = handler({
  name: 'asking',
  execute: async (_input, ctx: any) => {
    const reply = await ctx.resolveModel('small').generate({ messages: [{ role: 'user', content: 'Hi' }] });
    return reply.text;
  },
});

const counted = handler({
  name: 'counted',
  cacheable: true,
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  sessionStateSchema: z.object({ ran: z.number().default(0) }),
  execute: async ({ a, b }, ctx) => {
    await ctx.session.incState({ ran: 1 });
    return a + b;
  },
});

const calculating = generator({ name: 'calculating', model: 'small', prompt: 'Add.', tools: [counted] });

const told = handler({
  name: 'told',
  execute: (input, ctx: any) => ({ input, usage: ctx.request.tokenUsage }),
});

export default defineFlow({
  kind: 'own-models',
  actions: {
    stepping: { block: sequencer({ name: 'stepping-then-told' }).step(stepping).step(told) },
    whole: { block: whole },
    asking: { block: asking },
    calculating: { block: calculating },
  },
});
