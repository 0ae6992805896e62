/** Bookings in a text, one a line: how many there are, and what they are worth. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const text = z.string();

function* amountsOf(lines: string) {
  for (const line of lines.split('\n')) {
    const [, amount] = line.split(';');
    if (amount !== undefined) yield Number(amount);
  }
}

const read = handler({
  name: 'read',
  inputSchema: text,
  outputSchema: z.object({ count: z.number(), sum: z.number() }),
  execute: (lines) => {
    const amounts = amountsOf(lines);
    const count = [...amounts].length;
    let sum = 0;
    for (const amount of amounts) {
      sum += amount;
    }
    return { count, sum };
  },
});

export default defineFlow({ kind: 'bookings', actions: { read: { inputSchema: text, block: read } } });
