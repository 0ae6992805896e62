/**
 * An agent for a person: an assistant that looks up orders with tools, and asks a prompt of its own for the wording of
 * a reply. Run it with:
 *
 *   flowglass run concierge message --user ada --input '{"content":"Where is my order 17?"}' --mock
 */
import { defineAgent, defineHook, definePrompt, defineTool, emitThreadEvent } from "@standardagents/builder";
import { z } from "zod";

const ORDERS: Record<string, { item: string; status: string }> = {
  "17": { item: "a lamp", status: "on its way, due on Friday" },
  "18": { item: "two chairs", status: "delivered" },
};

/** Looks an order up, and remembers in the thread which one was asked about. */
export const find_order = defineTool(
  "Looks up an order by its number",
  z.object({ number: z.string() }),
  async (flow, args) => {
    const order = ORDERS[args.number];
    if (!order) return { status: "error", error: `There is no order ${args.number}` };
    await flow.storage.put("lastOrder", args.number);
    flow.context.order = order;
    return { status: "success", result: `Order ${args.number}: ${order.item}, ${order.status}` };
  },
);

/** Says how many orders this thread has asked for, and tells whoever watches it. */
export const note_question = defineTool("Counts a question of the customer", z.object({}), async (flow) => {
  const count = ((await flow.storage.get<number>("questions")) ?? 0) + 1;
  await flow.storage.put("questions", count);
  emitThreadEvent(flow, "question_counted", { count });
  return { status: "success", result: `Question ${count}` };
});

export const wording = definePrompt({
  name: "wording",
  toolDescription: "Writes a kind sentence to the customer from plain facts",
  prompt: "You write one kind sentence from the facts you get.",
  model: "gpt-5-mini",
  requiredSchema: z.object({ facts: z.string() }),
});

export const concierge = definePrompt({
  name: "concierge_prompt",
  prompt: "You help customers of a furniture shop. Look orders up before you answer.",
  model: "gpt-5-mini",
  includeChat: true,
  includePastTools: true,
  tools: [
    "find_order",
    "note_question",
    { name: "wording", initUserMessageProperty: "facts", includeToolCalls: false },
  ],
});

/** A customer reads no number of an order that failed: the model is told to ask again. */
defineHook("after_tool_call_failure", (_flow, call, result) =>
  call.function.name === "find_order"
    ? { ...result, error: `${result.error ?? "It failed"}; ask for the number` }
    : result,
);

export default defineAgent({
  name: "concierge",
  type: "ai_human",
  description: "Answers customers' questions about orders",
  sideA: { label: "Concierge", prompt: "concierge_prompt", stopOnResponse: true, maxTurns: 8 },
  sideB: { label: "Customer" },
});
