// A first flow: it greets by name and counts in the session how often it did. It asks no model.
import { defineFlow, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const input = z.object({ name: z.string().min(1).describe('Whom to greet') });
const session = z.object({ greeted: z.number().default(0) });

const count = handler({
  name: 'count',
  inputSchema: input,
  sessionStateSchema: session,
  execute: async ({ name }, ctx) => {
    await ctx.session.incState({ greeted: 1 });
    return { name };
  },
});

const greet = handler({
  name: 'greet',
  inputSchema: input,
  sessionStateSchema: session,
  execute: ({ name }, ctx) => {
    const times = ctx.session.state.greeted;
    const greeting = times === 1 ? `Hello, ${name}!` : `Hello again, ${name}! That makes ${times} times.`;
    ctx.emit.message(greeting);
    return { greeting };
  },
});

export default defineFlow({
  kind: 'hello',
  session: { stateSchema: session },
  actions: {
    greet: {
      description: 'Greets somebody, and counts how often.',
      inputSchema: input,
      block: sequencer({ name: 'hello', inputSchema: input }).step(count).step(greet),
    },
  },
});
