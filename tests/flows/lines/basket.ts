/** A basket: the price of each article is asked, and the total is shown. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const articles = z.array(z.string());
const PRICES: Record<string, number> = { tea: 4, cup: 11 };

async function priceOf(article: string) {
  await Promise.resolve();
  return PRICES[article] ?? 0;
}

const total = handler({
  name: 'total',
  inputSchema: articles,
  outputSchema: z.number(),
  execute: async (given) => {
    let eur = 0;
    given.forEach(async (article) => {
      const price = await priceOf(article);
      eur += price;
    });
    return eur;
  },
});

export default defineFlow({ kind: 'basket', actions: { total: { inputSchema: articles, block: total } } });
