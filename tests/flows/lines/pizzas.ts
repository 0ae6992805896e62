/** Pizzas of a table: each guest begins with the plain one and adds toppings. */
import { defineFlow, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const guest = z.object({ name: z.string(), extra: z.array(z.string()) });
const PLAIN = { size: 30, toppings: ['tomato', 'cheese'] };

const bake = handler({
  name: 'bake',
  inputSchema: guest,
  outputSchema: z.string(),
  execute: ({ name, extra }) => {
    const pizza = { ...PLAIN };
    for (const topping of extra) {
      pizza.toppings.push(topping);
    }
    return `${name}: ${pizza.toppings.join(', ')}`;
  },
});

const table = z.array(guest);

export default defineFlow({
  kind: 'pizzas',
  actions: {
    order: {
      inputSchema: table,
      block: sequencer({ name: 'order', inputSchema: table }).forEach((guests) => guests, bake, { maxConcurrency: 1 }),
    },
  },
});
