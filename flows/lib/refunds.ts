/**
 * Refunds: three ways to fail with a reason, and one that waits for a person instead.
 */

import { FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { findOrder } from "./orders.ts";

export const refundInput = z.object({
  orderId: z.string().default("A-100").describe("A-100 succeeds; A-200 is too dear, A-300 too early, A-999 unknown"),
  reason: z.enum(["damaged", "late", "unwanted"]).default("unwanted").describe("Why it goes back"),
});

const refundLimit = 200;

const order = z.object({ id: z.string(), product: z.string(), amount: z.number(), reason: z.string() });

const findRefundable = handler({
  name: "find-order",
  inputSchema: refundInput,
  outputSchema: order,
  execute: ({ orderId, reason }, ctx) => {
    ctx.emitStatus(`Looking for order ${orderId}`);
    const found = findOrder(orderId);
    if (!found) {
      throw new FlowError(`There is no order ${orderId}`, { code: "order_not_found", details: { orderId } });
    }
    if (found.state !== "delivered") {
      throw new FlowError(`Order ${found.id} cannot be refunded, because it is ${found.state}`, {
        code: "order_not_refundable",
        details: { orderId: found.id, state: found.state },
      });
    }
    return { id: found.id, product: found.product, amount: found.amount, reason };
  },
});

/** The note is written before the failure, and a failed block keeps its writes, so the journal tells why it failed. */
const checkLimit = handler({
  name: "check-limit",
  inputSchema: order,
  outputSchema: order,
  execute: async (found, ctx) => {
    if (found.amount > refundLimit) {
      await ctx.session.appendJournal({
        text: `A refund of ${found.amount} for order ${found.id} was refused.`,
        source: "check-limit",
        tags: ["refund"],
      });
      throw new FlowError(`A refund of ${found.amount} is above the limit of ${refundLimit}`, {
        code: "refund_over_limit",
        details: { orderId: found.id, amount: found.amount, limit: refundLimit },
      });
    }
    return found;
  },
});

const payBack = handler({
  name: "pay-back",
  inputSchema: order,
  execute: async (found, ctx) => {
    ctx.emitComponent("refund", found, { key: found.id });
    ctx.emitMessage(`${found.amount} for the ${found.product} is on its way back to you.`);
    await ctx.session.appendJournal({
      text: `Order ${found.id} was refunded (${found.reason}).`,
      source: "pay-back",
      tags: ["refund"],
    });
    return { orderId: found.id, refunded: found.amount };
  },
});

export const refund = sequencer({ name: "refund", inputSchema: refundInput })
  .step(findRefundable)
  .step(checkLimit)
  .step(payBack);
