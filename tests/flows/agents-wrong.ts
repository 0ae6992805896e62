/** Code of authors that does what it should not: hooks that return something else, and calls that have no end. */
import { defineAgent, defineHook, definePrompt, defineTool, injectMessage, queueTool } from "@standardagents/builder";
import type { FlowState } from "@standardagents/builder";
import { z } from "zod";

/** What the message asks for: `{ hook, gives }`, or `{ endless }`. */
const asked = (flow: FlowState) => JSON.parse(flow.messageHistory[0]?.content ?? "{}");

for (const hook of [
  "filter_messages",
  "prefilter_llm_history",
  "before_create_message",
  "before_update_message",
  "after_tool_call_success",
  "after_tool_call_failure",
] as const) {
  defineHook(hook, (flow: FlowState) => (asked(flow).hook === hook ? asked(flow).gives : undefined));
}

defineHook("after_create_message", async (flow) => {
  if (asked(flow).endless) await injectMessage(flow, { role: "system", content: "one more" });
});

export const fine = defineTool("Succeeds", () => "fine");
export const fails = defineTool("Fails", () => ({ status: "error", error: "no" }));
export const queue = defineTool("Queues a call", z.object({ name: z.string() }), (flow, { name }) => {
  queueTool(flow, name, { name });
  return "queued";
});
export const push = defineTool("Adds a message", z.object({ message: z.any() }), (flow, { message }) => {
  flow.messageHistory.push(message);
});

definePrompt({ name: "self", prompt: "Again.", model: "m", toolDescription: "Itself", tools: ["self"] });
definePrompt({
  name: "main",
  prompt: "Work.",
  model: "m",
  includeChat: true,
  tools: ["fine", "fails", "queue", "push", "self"],
});

export default defineAgent({ name: "agents-wrong", sideA: { prompt: "main" } });
