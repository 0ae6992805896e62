/** Fines of a library: the first two weeks are free, and each day after them costs 50 cents. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const loan = z.object({ days: z.number() });
const FREE = 14;
const CENTS = 50;

const fine = handler({
  name: 'fine',
  inputSchema: loan,
  outputSchema: z.number(),
  execute: ({ days }) => {
    const cents = days - FREE * CENTS;
    return Math.max(0, cents);
  },
});

export default defineFlow({ kind: 'library', actions: { fine: { inputSchema: loan, block: fine } } });
