/** A shop promises what it has in stock; the stock is asked for each article. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const asked = z.object({ article: z.string() });
const STOCK: Record<string, number> = { lamp: 4, desk: 0 };

async function isInStock(article: string) {
  await Promise.resolve();
  return (STOCK[article] ?? 0) > 0;
}

const promise = handler({
  name: 'promise',
  inputSchema: asked,
  outputSchema: z.string(),
  execute: async ({ article }) => {
    const found = isInStock(article) as unknown;
    return found ? `The ${article} is sent today.` : `The ${article} is sold out.`;
  },
});

export default defineFlow({ kind: 'stock', actions: { promise: { inputSchema: asked, block: promise } } });
