/** Parcels of an order: each has a fee by its zone, and the fees are added when all parcels are known. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const order = z.array(z.object({ zone: z.string(), kg: z.number() }));
const PER_KG: Record<string, number> = { home: 2, abroad: 9 };

const ship = handler({
  name: 'ship',
  inputSchema: order,
  outputSchema: z.number(),
  execute: (parcels) => {
    const fees: (() => number)[] = [];
    let rate = 0;
    for (const { zone, kg } of parcels) {
      rate = PER_KG[zone] ?? 0;
      fees.push(() => kg * rate);
    }
    return fees.reduce((sum, fee) => sum + fee(), 0);
  },
});

export default defineFlow({ kind: 'parcels', actions: { ship: { inputSchema: order, block: ship } } });
