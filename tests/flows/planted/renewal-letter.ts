/** Letters before a contract renews: the customer is looked up, and a model writes the letter. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { Agent } from "acts";
import { z } from "zod";

const asked = z.object({ customer: z.string() });

const CONTRACTS: Record<string, { name: string; plan: string; eur: number; renewsOn: string }> = {
  "C-3": { name: "Ada Byron", plan: "Studio", eur: 29, renewsOn: "1 September 2026" },
  "C-4": { name: "Bob Kahn", plan: "Team", eur: 99, renewsOn: "15 October 2026" },
};

const findCustomer = handler({
  name: "find-customer",
  inputSchema: asked,
  execute: ({ customer }) => {
    const found = CONTRACTS[customer];
    if (!found) throw new Error(`There is no customer ${customer}`);
    return { customer, ...found };
  },
});

const writer = Agent({
  name: "letter-writer",
  model: "gpt-5-mini",
  schema: {
    type: "object",
    properties: { subject: { type: "string" }, body: { type: "string" } },
    required: ["subject", "body"],
  },
  context: (found) => [
    { type: "system", message: "Write a short letter about the renewal of a contract. Use only what you are told." },
    {
      type: "text",
      text: `${found.name} pays ${found.eur} EUR a month for ${found.plan}, and renews on ${found.renewalDate}.`,
    },
  ],
});

const send = handler({
  name: "send",
  inputSchema: z.object({ subject: z.string(), body: z.string() }),
  sessionStateSchema: z.object({ sent: z.array(z.string()).default([]) }),
  execute: async ({ subject, body }, ctx) => {
    await ctx.session.pushState("sent", subject);
    ctx.emit.message(body);
    return { subject, body };
  },
});

export default defineFlow({
  kind: "renewal-letter",
  actions: {
    write: {
      inputSchema: asked,
      block: sequencer({ name: "write", inputSchema: asked }).step(findCustomer).step(writer).step(send),
    },
  },
});
