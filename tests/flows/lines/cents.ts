/** A payment service takes whole cents; prices come in EUR. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const price = z.object({ eur: z.number() });

const charge = handler({
  name: 'charge',
  inputSchema: price,
  outputSchema: z.object({ cents: z.number() }),
  execute: ({ eur }) => {
    const cents = eur * 100;
    return { cents: Math.floor(cents) };
  },
});

export default defineFlow({ kind: 'cents', actions: { charge: { inputSchema: price, block: charge } } });
