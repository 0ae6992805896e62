/** The eight hooks: in which order they are called, what they may change, and what their failures do. */
import { defineAgent, defineHook, definePrompt, defineTool, injectMessage } from "@standardagents/builder";
import type { FlowState } from "@standardagents/builder";
import { z } from "zod";

function note(flow: FlowState, what: string): void {
  flow.context.log = [...(flow.context.log ?? []), what];
  flow.context.fields = Object.keys(flow).filter((field) => flow[field as keyof FlowState] !== undefined).length;
}

/** What the user's message asks the hooks to do. */
const asked = (flow: FlowState, word: string) =>
  flow.messageHistory.some((message) => message.role === "user" && message.content?.includes(word));

defineHook("filter_messages", (flow, messages) => {
  note(flow, `filter ${messages.length}`);
  return messages.filter(
    (message) => !message.content?.includes("secret") && !(asked(flow, "forget calls") && message.tool_calls),
  );
});
defineHook("prefilter_llm_history", (flow, messages) => {
  note(flow, `prefilter ${messages.map((message) => message.role).join(" ")}`);
  if (asked(flow, "block me")) throw Object.assign(new Error("not allowed"), { block: true });
  if (asked(flow, "break")) throw new Error("a hook broke");
});
defineHook("before_create_message", (flow, message) => {
  note(flow, `before_create ${message.role}`);
  if (message.content === "refused") throw new Error("no such message");
  if (message.content === "not allowed" && asked(flow, "politely")) return { ...message, content: "I may not." };
  if (message.content === "your turn") flow.currentSide = "b";
  if (message.content === "stop") flow.stopped = true;
  if (message.role === "user") return { ...message, content: `${message.content}!` };
});
defineHook("before_create_message", (_flow, message) =>
  message.role === "user" ? { ...message, content: `${message.content}?` } : undefined,
);
defineHook("after_create_message", (flow, message) => note(flow, `after_create ${message.role}`));
defineHook("before_update_message", (flow, _id, updates) => {
  note(flow, `before_update ${updates.status}`);
  if (updates.content) return { ...updates, content: updates.content.toUpperCase() };
});
defineHook("after_update_message", (flow, message) => note(flow, `after_update ${message.status}`));
defineHook("after_tool_call_success", (flow, call, result) => {
  note(flow, `success ${call.function.name}`);
  if (call.function.name === "polish") return { ...result, result: "polished" };
});
defineHook("after_tool_call_failure", (flow, call, result) => {
  note(flow, `failure ${call.function.name} ${result.error}`);
  return null;
});
defineHook("after_create_message", (flow) => (asked(flow, "wait") ? new Promise(() => {}) : undefined));

export const polish = defineTool("Works", (flow) => {
  note(flow, "polish");
  return "raw";
});
export const fail = defineTool("Fails", () => ({ status: "error", error: "no" }));
export const inject = defineTool("Injects what a hook refuses", z.object({ text: z.string() }), async (flow, args) => {
  await injectMessage(flow, { role: "system", content: args.text });
  return "stored";
});

export const keep = defineTool("Keeps the newest question with the thread", async (flow) => {
  const asked = flow.messageHistory.filter((message) => message.role === "user").at(-1);
  await flow.storage.put("kept", asked?.content);
  return "kept";
});

export const hooked = definePrompt({
  name: "hooked",
  prompt: "Work.",
  model: "m",
  includeChat: true,
  includePastTools: true,
  tools: ["polish", "fail", "inject", "keep"],
});

export default defineAgent({ name: "agents-hooks", type: "ai_human", sideA: { prompt: "hooked" } });
