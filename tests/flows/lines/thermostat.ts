/** A thermostat: who names no temperature gets 20 degrees. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const wish = z.object({ room: z.string(), degrees: z.number().optional() });

const set = handler({
  name: 'set',
  inputSchema: wish,
  outputSchema: z.object({ room: z.string(), degrees: z.number() }),
  execute: ({ room, degrees }) => {
    const target = degrees || 20;
    return { room, degrees: target };
  },
});

export default defineFlow({ kind: 'thermostat', actions: { set: { inputSchema: wish, block: set } } });
