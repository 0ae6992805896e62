/** A shop's checkout: an order earns points, points make a tier, and the tier gives a discount on the order. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const order = z.object({ lines: z.array(z.object({ name: z.string(), eur: z.number() })).min(1) });
const tier = z.enum(["silver", "gold"]);
const cart = z.object({ total: z.number(), tier });
const userState = z.object({ points: z.number().default(0), tier: tier.default("silver") });

const DISCOUNT: Record<z.infer<typeof tier>, number> = { silver: 0.05, gold: 0.2 };
const GOLD_FROM = 150;

const openCart = handler({
  name: "open-cart",
  inputSchema: order,
  outputSchema: cart,
  userStateSchema: userState,
  execute: ({ lines }, ctx) => ({
    total: lines.reduce((sum, line) => sum + line.eur, 0),
    tier: ctx.user.state.tier,
  }),
});

const earnPoints = handler({
  name: "earn-points",
  inputSchema: cart,
  userStateSchema: userState,
  execute: async ({ total }, ctx) => {
    await ctx.user.incState({ points: Math.floor(total) });
    if (ctx.user.state.points >= GOLD_FROM && ctx.user.state.tier !== "gold") {
      await ctx.user.patchState({ tier: "gold" });
      ctx.emit.message("You are gold now: 20 % off, beginning with this order.");
    }
  },
});

const price = handler({
  name: "price",
  inputSchema: cart,
  execute: (given) => {
    const discount = given.total * DISCOUNT[given.tier];
    return { total: given.total, discount, toPay: given.total - discount };
  },
});

const receipt = handler({
  name: "receipt",
  inputSchema: z.object({ total: z.number(), discount: z.number(), toPay: z.number() }),
  execute: (sums, ctx) => {
    ctx.emit.component("receipt", sums);
    ctx.emit.message(`To pay: ${sums.toPay.toFixed(2)} EUR.`);
    return sums;
  },
});

export default defineFlow({
  kind: "checkout",
  user: { stateSchema: userState },
  actions: {
    pay: {
      inputSchema: order,
      block: sequencer({ name: "pay", inputSchema: order }).step(openCart).tap(earnPoints).step(price).step(receipt),
    },
  },
});
