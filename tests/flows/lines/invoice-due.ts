/** An invoice is due at the end of the day that it names as year, month and day. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const named = z.object({ year: z.number(), month: z.number(), day: z.number() });

const due = handler({
  name: 'due',
  inputSchema: named,
  outputSchema: z.string(),
  execute: ({ year, month, day }) => {
    const at = new Date(Date.UTC(year, month, day, 23, 59));
    return at.toISOString().slice(0, 10);
  },
});

export default defineFlow({ kind: 'invoice-due', actions: { due: { inputSchema: named, block: due } } });
