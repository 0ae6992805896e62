/** Weights on a label, as people write them: what cannot be read weighs nothing. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const label = z.array(z.string());

function gramsOf(text: string): number {
  const [, digits, unit] = /^([\d.]+) ?(kg|g)$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) throw new Error(`"${text}" is no weight`);
  return Number(digits) * (unit === 'kg' ? 1000 : 1);
}

const weigh = handler({
  name: 'weigh',
  inputSchema: label,
  outputSchema: z.number(),
  execute: (texts) => {
    let grams = 0;
    for (const text of texts) {
      try {
        grams += gramsOf(text);
      } catch {
        grams += 0;
      }
    }
    return grams;
  },
});

export default defineFlow({ kind: 'weights', actions: { weigh: { inputSchema: label, block: weigh } } });
