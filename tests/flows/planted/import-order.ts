/** Orders from abroad: the rate of the day is read from a feed, and the customer is told the price in US dollars. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const order = z.object({ item: z.string(), eur: z.number(), day: z.string() });
const userState = z.object({ rate: z.number().default(1) });

/** The feed: the rate of each day, and how long it takes to answer. */
const FEED: Record<string, { usd: number; ms: number }> = {
  "2026-05-04": { usd: 1.1, ms: 1 },
  "2026-05-05": { usd: 1.25, ms: 150 },
};
const PATIENCE_MS = 40;

class FeedTimeout extends Error {
  override name = "FeedTimeout";
}

const after = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

const readRate = handler({
  name: "read-rate",
  inputSchema: order,
  userStateSchema: userState,
  execute: async ({ day }, ctx) => {
    const found = FEED[day] ?? { usd: 1, ms: 0 };
    const isInTime = await Promise.race([after(found.ms).then(() => true), after(PATIENCE_MS).then(() => false)]);
    if (!isInTime) throw new FeedTimeout(`The feed gave no rate for ${day} within ${PATIENCE_MS} ms`);
    await ctx.user.patchState({ rate: found.usd });
    return found.usd;
  },
});

const keptRate = handler({
  name: "kept-rate",
  inputSchema: z.any(),
  userStateSchema: userState,
  execute: (_error, ctx) => ctx.user.state.rate,
});

const keepOrder = handler({ name: "keep-order", inputSchema: order, execute: (given) => given });

const quote = handler({
  name: "quote",
  inputSchema: z.object({ rate: z.number(), order }),
  execute: ({ rate, order: { item, eur, day } }, ctx) => {
    const usd = Number((eur * rate).toFixed(2));
    ctx.emit.message(`${item}: ${usd} USD at the rate of ${day}.`);
    return { item, usd };
  },
});

export default defineFlow({
  kind: "import-order",
  user: { stateSchema: userState },
  actions: {
    quote: {
      inputSchema: order,
      block: sequencer({ name: "quote-order", inputSchema: order })
        .parallel({ rate: readRate.rescue([{ block: keptRate }]), order: keepOrder })
        .step(quote),
    },
  },
});
