/**
 * An approval before money moves: the agent looks an order up and asks for a refund, and a refund above 20 waits for a
 * person, who sees exactly what the refund would get to see. Run it with:
 *
 *   flowglass run refund ask --user ada --input '{"order":"17"}' --mock
 *   flowglass resume REQUEST --approve        (or --reject --reason "too much")
 */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
import { z } from "zod";

const ORDERS: Record<string, { item: string; price: number }> = { "17": { item: "a lamp", price: 45 } };

Tool.register("findOrder", {
  type: "object",
  properties: { order: { type: "string" }, _outputPath: { const: "†state.order" } },
  required: ["order"],
});
Activity.register("findOrder", ({ order }) => ORDERS[order] ?? { item: "nothing", price: 0 });

Tool.register("pay", {
  type: "object",
  description: "Pays money back",
  properties: {
    amount: { type: "number", minimum: 1 },
    _scopes: { type: "array", items: { enum: ["account", "state"] } },
    _outputPath: { const: "†state.paid" },
  },
  required: ["amount"],
});
Activity.register("pay", ({ amount }, { account }) => ({ amount, to: account.iban }));

const refundInput = z.object({
  order: z.string().min(1).describe("The number of the order. The shop has one: 17, a lamp for 45"),
});

const refund = Agent<z.infer<typeof refundInput>>({
  name: "refund",
  model: "gpt-5-mini",
  schema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  context: ({ order }) => [
    { type: "system", message: "Look the order up, then pay its price back." },
    { type: "input", order },
    { type: "data", kind: "account", data: { iban: "DE02 1203 0000 0000 2020 51" } },
    { type: "tool", tool: "findOrder" },
    { type: "tool", tool: "pay" },
  ],
  confirm: (call) => call._tool === "pay" && call.amount > 20,
});

export default defineFlow({
  kind: "refund",
  actions: {
    ask: {
      description: "Ask for the price of an order back. Above 20 a person has to agree before money moves.",
      inputSchema: refundInput,
      block: refund,
    },
  },
});
