/** Pays sellers of a market place what they earned. A person looks at every payment before it goes out. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const userState = z.object({
  iban: z.string().default("DE02 1203 0000 0000 2020 51"),
  payments: z.array(z.object({ eur: z.number(), to: z.string() })).default([]),
});
const payout = z.object({ eur: z.number().positive() });
const prepared = payout.extend({ to: z.string() });

const prepare = handler({
  name: "prepare",
  inputSchema: payout,
  outputSchema: prepared,
  userStateSchema: userState,
  execute: ({ eur }, ctx) => ({ eur, to: ctx.user.state.iban }),
});

const review = handler({
  name: "review",
  inputSchema: prepared,
  outputSchema: prepared,
  execute: async (payment, ctx) => {
    await ctx.suspend({
      reason: "human_approval",
      message: `Pay ${payment.eur} EUR to ${payment.to}?`,
      data: payment,
      allow: ["approve", "reject"],
    });
    return payment;
  },
});

const transfer = handler({
  name: "transfer",
  inputSchema: prepared,
  userStateSchema: userState,
  execute: async ({ eur }, ctx) => {
    const payment = { eur, to: ctx.user.state.iban };
    await ctx.user.pushState("payments", payment);
    ctx.emit.message(`${eur} EUR are on their way to ${payment.to}.`);
    return payment;
  },
});

const changeAccount = handler({
  name: "change-account",
  inputSchema: z.object({ iban: z.string() }),
  userStateSchema: userState,
  execute: async ({ iban }, ctx) => {
    await ctx.user.patchState({ iban });
    ctx.emit.message("Your new account is used from now on.");
    return { iban };
  },
});

export default defineFlow({
  kind: "payout",
  user: { stateSchema: userState },
  actions: {
    pay: {
      inputSchema: payout,
      block: sequencer({ name: "pay-out", inputSchema: payout }).step(prepare).step(review).step(transfer),
    },
    account: { inputSchema: z.object({ iban: z.string() }), block: changeAccount },
  },
});
