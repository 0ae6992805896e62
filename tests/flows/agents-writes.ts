/** Tools that change `messageHistory`, and tools that write into fields that are fixed. */
import { defineAgent, defineHook, definePrompt, defineTool, injectMessage, reloadHistory } from "@standardagents/builder";
import type { FlowState, Message } from "@standardagents/builder";
import { z } from "zod";

const told = (messages: Message[]) => messages.map((message) => message.content ?? message.role).join(" ");

export const shorten = defineTool("Keeps the newest message", (flow) => {
  flow.messageHistory = flow.messageHistory.slice(-1);
  return told(flow.messageHistory);
});

export const edit = defineTool("Changes a message in place", (flow) => {
  flow.messageHistory[0]!.content = "edited";
  return told(flow.messageHistory);
});

export const look = defineTool("Tells the history", (flow) => told(flow.messageHistory));

export const insert = defineTool("Stores a message", async (flow) => {
  await injectMessage(flow, { role: "system", content: "injected" });
  return told(flow.messageHistory);
});

export const reload = defineTool("Reads the thread anew", async (flow) => {
  flow.messageHistory = [];
  flow.messageHistory = (await reloadHistory(flow)) as Message[];
  return told(flow.messageHistory);
});

/** Each writes into a field that is fixed. */
const writes: Record<string, (flow: any) => unknown> = {
  config: (flow) => (flow.agentConfig.maxSessionTurns = 1),
  side: (flow) => (flow.agentConfig.sideA.prompt = "other"),
  tags: (flow) => flow.agentConfig.tags.push("new"),
  thread: (flow) => (flow.thread.metadata.title = "new"),
  instance: (flow) => (flow.thread.instance.mine = 1),
  env: (flow) => (flow.env.X = "1"),
  gone: (flow) => delete flow.agentConfig.name,
};

export const write = defineTool("Writes", z.object({ what: z.string() }), (flow, { what }) => {
  writes[what]?.(flow);
  return "accepted";
});

export const keep = defineTool("Keeps parts of what is fixed", (flow) => {
  flow.context.config = flow.agentConfig;
  const { name, tags } = structuredClone(flow.context.config) as { name: string; tags: string[] };
  return [name, ...tags, ...Object.keys(flow.env), JSON.stringify({ ...flow.thread.metadata, created_at: 0 }).length > 20];
});

defineHook("after_tool_call_success", (flow: FlowState, call) => {
  flow.context.last = call.function.name;
});

definePrompt({
  name: "main",
  prompt: "Work.",
  model: "m",
  includeChat: true,
  tools: ["shorten", "edit", "look", "insert", "reload", "write", "keep"],
});

export default defineAgent({ name: "agents-writes", tags: ["one"], sideA: { prompt: "main" } } as never);
