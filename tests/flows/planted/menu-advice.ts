/** A waiter at the table: the guest's profile is looked up while the model already thinks about a dish. */
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const order = z.object({ guest: z.string(), wish: z.string() });
const requestState = z.object({ allergies: z.array(z.string()).default([]), card: z.string().optional() });

const PROFILES: Record<string, { allergies: string[] }> = { ada: { allergies: ["peanuts"] }, bob: { allergies: [] } };

const findAllergies = handler({
  name: "find-allergies",
  inputSchema: order,
  requestStateSchema: requestState,
  execute: async ({ guest }, ctx) => {
    // The profiles are kept by the head office, which takes a while to answer.
    await new Promise((done) => setTimeout(done, 150));
    await ctx.request.patchState({ allergies: PROFILES[guest]?.allergies ?? [] });
  },
});

const MENU = ["tomato soup", "chicken satay with peanut sauce", "green curry", "lemon tart"];

const waiter = generator({
  name: "waiter",
  model: "gpt-5-mini",
  agentType: "primary",
  inputSchema: order,
  requestStateSchema: requestState,
  prompt: "Recommend one dish of the menu. Leave out what the guest must not eat.",
  context: {
    menu: MENU.join(", "),
    allergies: (_order, ctx) => ctx.request.state.allergies.join(", ") || "none known",
  },
  user: ({ wish }) => wish,
});

const printCard = handler({
  name: "print-card",
  inputSchema: z.string(),
  requestStateSchema: requestState,
  execute: async (advice, ctx) => {
    await ctx.request.patchState({ card: advice });
    return { advice };
  },
});

const advise = sequencer({ name: "advise", inputSchema: order }).work(findAllergies).step(waiter).step(printCard);

export default defineFlow({
  kind: "menu-advice",
  request: { stateSchema: requestState },
  actions: { advise: { inputSchema: order, block: advise } },
});
