/**
 * Two agents that bargain over a price until the seller accepts. Run it with:
 *
 *   flowglass run bargain message --user ada --input '{"content":"A used bicycle, asking 120."}' --mock
 */
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";

/** Ends the conversation: the price is agreed. */
export const accept = defineTool("Accepts the price", z.object({ price: z.number() }), async (flow, args) => {
  await flow.storage.put("price", args.price);
  flow.context.agreed = args.price;
  return { status: "success", result: `Agreed at ${args.price}` };
});

export const buyer = definePrompt({
  name: "buyer",
  prompt: "You want to buy for at most 100. Make offers.",
  model: "gpt-5-mini",
  includeChat: true,
});

export const seller = definePrompt({
  name: "seller",
  prompt: "You sell for at least 90. Accept what is enough, otherwise make a counter-offer.",
  model: "gpt-5-mini",
  includeChat: true,
  tools: ["accept"],
});

export default defineAgent({
  name: "bargain",
  type: "dual_ai",
  description: "A buyer and a seller agree on a price",
  maxSessionTurns: 10,
  sideA: { label: "Buyer", prompt: "buyer", stopOnResponse: true },
  sideB: { label: "Seller", prompt: "seller", stopOnResponse: true, endConversationTool: "accept" },
});
