/**
 * Calls: tools, Activities, delegates, agents and their messages.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { defineFlow, sequencer } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
import type { Call, Message } from "acts";
import { z } from "zod";
import { z as z4 } from "zod/v4";

// A schema is JSON Schema, or one of zod.

Tool.register("pay", { properties: { amount: { type: "number" }, _outputMethod: { const: "push" } } });
Tool.register("look", z.object({ id: z.string() }));
Delegate.register("judge", { context: [{ type: "text", text: "Judge." }], schema: z4.object({ fits: z4.boolean() }) });
Delegate.register("plain", {});
// @ts-expect-error A schema is an object.
Tool.register("pay", "number");
// @ts-expect-error Messages have a type that there is.
Delegate.register("judge", { context: [{ type: "note", text: "?" }] });

// An Activity gets the Call and what is scoped to it, typed as its author says.

Activity.register("pay", ({ amount }, { account }) => `${amount} to ${account.iban}`);
Activity.register("look", async ({ id }: { id: string }, scoped: { state: { seen: string[] } }) => {
  return scoped.state.seen.includes(id);
});

// A context is a list of messages or a function of the input, and the agent is a block.

const messages: Message[] = [
  { type: "system", message: "Be kind." },
  { type: "state", userId: "u", _instance: "1" },
  { type: "data", kind: "notes", data: [1], schema: z.array(z.number()) },
  { type: "tool", tool: "pay" },
  { type: "tool", tool: { ask: { properties: {} } } },
  { type: "plan", plan: [{ _tool: "pay" }] satisfies Call[] },
];
const fixed = Agent({ name: "fixed", model: ["a", "b"], context: messages, confirm: true, maxTicks: 3 });
const asked = Agent<{ order: string }>({
  name: "asked",
  model: "a",
  schema: z.object({ done: z.boolean() }),
  context: async ({ order }) => [...messages, { type: "input", order }],
  confirm: (call) => call._tool === "pay" && call._outputMethod !== "push" && call.amount > 10,
});
export const flow = defineFlow({
  kind: "acts",
  actions: { fixed: { block: fixed }, asked: { block: sequencer({ name: "s" }).step(asked) } },
});
// @ts-expect-error An agent has a model.
Agent({ name: "none", context: [] });
// @ts-expect-error There is no such method.
const assigned: Call = { _tool: "pay", _outputMethod: "assign" };
void assigned;
