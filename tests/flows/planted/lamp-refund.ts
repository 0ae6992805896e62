/** Refunds of a lamp shop: the agent finds the order, and pays its price back to the card it was paid with. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
import { z } from "zod";

/** As the shop system keeps them. */
const ORDERS: Record<string, { item: string; cents: number; card: string }> = {
  "17": { item: "a desk lamp", cents: 4500, card: "…4242" },
  "18": { item: "a lamp shade", cents: 1250, card: "…1881" },
};

Tool.register("findOrder", {
  type: "object",
  description: "Finds an order by its number",
  properties: { order: { type: "string" }, _outputPath: { const: "†state.order" } },
  required: ["order"],
});
Activity.register("findOrder", ({ order }) => {
  const found = ORDERS[order];
  return found ? { item: found.item, price: found.cents, card: found.card } : { item: "nothing", price: 0, card: "" };
});

Tool.register("payBack", {
  type: "object",
  description: "Pays an amount in EUR back to a card",
  properties: {
    amount: { type: "number", exclusiveMinimum: 0 },
    card: { type: "string" },
    _outputPath: { const: "†state.paid" },
  },
  required: ["amount", "card"],
});
Activity.register("payBack", ({ amount, card }) => ({ booked: `${amount.toFixed(2)} EUR`, to: card }));

const asked = z.object({ order: z.string().min(1) });

const refunds = Agent<z.infer<typeof asked>>({
  name: "refunds",
  model: "gpt-5-mini",
  schema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  context: ({ order }) => [
    { type: "system", message: "Find the order, then pay its price back." },
    { type: "input", order },
    { type: "tool", tool: "findOrder" },
    { type: "tool", tool: "payBack" },
  ],
});

export default defineFlow({ kind: "lamp-refund", actions: { refund: { inputSchema: asked, block: refunds } } });
