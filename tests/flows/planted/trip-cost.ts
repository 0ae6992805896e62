/** A weekend away: flight and hotel are booked side by side, and the traveller reads what the trip costs. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const trip = z.object({ city: z.string(), nights: z.number().int().min(1) });
const sessionState = z.object({ spent: z.number().default(0) });

const FARES: Record<string, number> = { Lisbon: 420, Rome: 310 };
const NIGHT: Record<string, number> = { Lisbon: 130, Rome: 115 };

/** The partners' services take a moment to confirm. */
const confirmed = (ms: number) => new Promise((done) => setTimeout(done, ms));

const bookFlight = handler({
  name: "book-flight",
  inputSchema: trip,
  sessionStateSchema: sessionState,
  execute: async ({ city }, ctx) => {
    const price = FARES[city] ?? 0;
    await confirmed(10);
    await ctx.session.incState({ spent: price });
    return { price };
  },
});

const openBill = handler({
  name: "open-bill",
  inputSchema: trip,
  sessionStateSchema: sessionState,
  execute: (given, ctx) => ({ ...given, spent: ctx.session.state.spent }),
});

const bookHotel = handler({
  name: "book-hotel",
  inputSchema: trip.extend({ spent: z.number() }),
  sessionStateSchema: sessionState,
  execute: async ({ city, nights, spent }, ctx) => {
    const price = (NIGHT[city] ?? 0) * nights;
    await confirmed(40);
    await ctx.session.patchState({ spent: spent + price });
    return { price };
  },
});

const hotel = sequencer({ name: "hotel", inputSchema: trip }).step(openBill).step(bookHotel);

const summary = handler({
  name: "summary",
  sessionStateSchema: sessionState,
  execute: (_booked, ctx) => {
    const text = `Flight and hotel are booked. So far the trip costs ${ctx.session.state.spent} EUR.`;
    ctx.emit.message(text);
    return { text };
  },
});

export default defineFlow({
  kind: "trip-cost",
  session: { stateSchema: sessionState },
  actions: {
    book: {
      inputSchema: trip,
      block: sequencer({ name: "book", inputSchema: trip }).parallel({ flight: bookFlight, hotel }).step(summary),
    },
  },
});
