/** Offers for groups: a model prices what a customer writes, and the offer is filed with its price. */
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const inquiry = z.object({ from: z.string(), text: z.string().min(1) });
const sessionState = z.object({ offers: z.array(z.object({ from: z.string(), eur: z.number() })).default([]) });

const estimate = generator({
  name: "estimate",
  model: "gpt-5-mini",
  inputSchema: inquiry,
  prompt: [
    "You price stays of groups. A double room is 90 EUR a night, breakfast is 12 EUR for each person.",
    "Answer in one sentence that names the price.",
  ],
  user: ({ text }) => text,
});

const readPrice = handler({
  name: "read-price",
  inputSchema: z.string(),
  execute: (answer) => {
    const [digits] = answer.match(/\d+(?:\.\d+)?/) ?? [];
    if (digits === undefined) throw new Error(`There is no price in "${answer}"`);
    return { eur: Number(digits), answer };
  },
});

const fileOffer = handler({
  name: "file-offer",
  inputSchema: z.object({ from: z.string(), eur: z.number() }),
  sessionStateSchema: sessionState,
  execute: async (offer, ctx) => {
    await ctx.session.pushState("offers", offer);
    ctx.emit.message(`Your stay costs ${offer.eur} EUR in all. The offer holds for 14 days.`);
    return offer;
  },
});

const keepSender = handler({ name: "keep-sender", inputSchema: inquiry, execute: ({ from }) => from });

const price = sequencer({ name: "find-price", inputSchema: inquiry }).step(estimate).step(readPrice);

export default defineFlow({
  kind: "room-offer",
  session: { stateSchema: sessionState },
  actions: {
    offer: {
      inputSchema: inquiry,
      block: sequencer({ name: "offer", inputSchema: inquiry })
        .parallel({ price, from: keepSender })
        .map(({ price: found, from }) => ({ from, eur: found.eur }))
        .step(fileOffer),
    },
  },
});
