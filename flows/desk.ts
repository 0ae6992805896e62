/**
 * A support desk: an agent with the customer's whole record hands tickets to a delegate, which sees its own ticket and
 * nothing of the customer or of the other ticket. Run it with:
 *
 *   flowglass run desk answer --user ada --input '{"customer":"Ada","tickets":["My lamp is broken","Where is my bill?"]}' --mock
 */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
import type { Message } from "acts";
import { z } from "zod";

/** Writes the reply to one ticket. */
Delegate.register("writer", {
  context: [{ type: "system", message: "You answer one support ticket, in two sentences." }],
  schema: { type: "object", properties: { reply: { type: "string" } }, required: ["reply"] },
});

Tool.register("draft", {
  type: "object",
  description: "Has the reply to a ticket written",
  properties: {
    _delegate: { const: "writer" },
    _scopes: { const: ["ticket"] },
    _instance: { type: "string" },
    _outputPath: { const: "†state.draft" },
  },
});

Tool.register("sign", {
  type: "object",
  description: "Puts a salutation before a reply",
  properties: {
    text: { type: "string" },
    _scopes: { const: ["customer"] },
    _instance: { type: "string" },
    _outputPath: { const: "†state.letter" },
  },
  required: ["text"],
});
Activity.register("sign", ({ text }, { customer }) => `Dear ${customer.name}, ${text}`);

const deskInput = z.object({
  customer: z.string().min(1).describe("The customer's name, which goes into the salutation"),
  tickets: z
    .array(z.string().min(1))
    .min(1)
    .describe("What the customer writes, a ticket each. Try “My lamp is broken”"),
});

const desk = Agent<z.infer<typeof deskInput>>({
  name: "desk",
  model: "gpt-5-mini",
  schema: { type: "object", properties: { answered: { type: "integer" } }, required: ["answered"] },
  context: ({ customer, tickets }) => [
    { type: "system", message: "Have a reply drafted and signed for each ticket." },
    { type: "data", kind: "customer", data: { name: customer, card: "4111 1111 1111 1111" } },
    ...tickets.map((text, at): Message => ({ type: "data", kind: "ticket", data: { text }, _instance: `T${at + 1}` })),
    { type: "tool", tool: "draft" },
    { type: "tool", tool: "sign" },
  ],
});

export default defineFlow({
  kind: "desk",
  actions: {
    answer: {
      description: "Have each ticket answered by a delegate that sees that ticket and nothing else.",
      inputSchema: deskInput,
      block: desk,
    },
  },
});
