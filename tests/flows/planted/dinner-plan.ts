/** Plans a dinner: the guest's wishes are collected in a draft, and a restaurant is picked that fits them. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const diet = z.enum(["any", "vegan"]);
const wishes = z.object({ city: z.string(), guests: z.number().int().min(1), diet: diet.optional() });
const sessionState = z.object({
  draft: wishes.partial().default({}),
  dinners: z.array(z.string()).default([]),
});

const RESTAURANTS = [
  { name: "Casa do Mar", city: "Lisbon", vegan: false },
  { name: "Folha", city: "Lisbon", vegan: true },
  { name: "Da Enzo", city: "Rome", vegan: false },
  { name: "Verde", city: "Rome", vegan: true },
];

const collect = handler({
  name: "collect",
  inputSchema: wishes,
  sessionStateSchema: sessionState,
  execute: async (given, ctx) => {
    await ctx.session.patchState({ draft: { ...ctx.session.state.draft, ...given } });
  },
});

const pick = handler({
  name: "pick",
  inputSchema: z.object({}),
  sessionStateSchema: sessionState,
  execute: (_nothing, ctx) => {
    const { city, guests, diet: wanted } = ctx.session.state.draft;
    const fits = RESTAURANTS.filter((place) => place.city === city && (wanted === "vegan") === place.vegan);
    const [found] = fits;
    if (!found) throw new Error(`Nothing in ${city} fits`);
    return { restaurant: found.name, city: found.city, guests: guests ?? 1 };
  },
});

const reserve = handler({
  name: "reserve",
  inputSchema: z.object({ restaurant: z.string(), city: z.string(), guests: z.number() }),
  sessionStateSchema: sessionState,
  execute: async ({ restaurant, city, guests }, ctx) => {
    await ctx.session.pushState("dinners", `${restaurant}, ${city}`);
    ctx.emit.message(`A table for ${guests} at ${restaurant} in ${city} is reserved.`);
    return { restaurant, guests };
  },
});

export default defineFlow({
  kind: "dinner-plan",
  session: { stateSchema: sessionState },
  actions: {
    plan: {
      inputSchema: wishes,
      block: sequencer({ name: "plan", inputSchema: wishes })
        .tap(collect)
        .step(() => ({}), pick)
        .step(reserve),
    },
  },
});
