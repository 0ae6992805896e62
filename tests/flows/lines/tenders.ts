/** Offers for a job: the cheapest one that can begin in time gets it. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const offer = z.object({ by: z.string(), eur: z.number(), week: z.number() });
const tender = z.object({ until: z.number(), offers: z.array(offer) });

const award = handler({
  name: 'award',
  inputSchema: tender,
  outputSchema: z.string(),
  execute: ({ until, offers }, ctx) => {
    let best = { by: 'nobody', eur: Number.MAX_SAFE_INTEGER };
    for (const { by, eur, week } of offers) {
      if (week <= until && eur < best.eur) {
        const best = { by, eur };
        ctx.emit.message(`${best.by} is in front with ${best.eur} EUR.`);
      }
    }
    return best.by;
  },
});

export default defineFlow({ kind: 'tenders', actions: { award: { inputSchema: tender, block: award } } });
