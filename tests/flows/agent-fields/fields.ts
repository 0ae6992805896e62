/** Reads every field of the `FlowState`, or writes one, at the place that the message names. */
import { defineAgent, defineHook, definePrompt, defineTool } from "@standardagents/builder";
import type { FlowState, Message } from "@standardagents/builder";

/** The test replaces this word for the agent with two models. */
const SIDES = "human" as "human" | "two";
/** The side in whose first turn it happens. */
const ACTING = SIDES === "human" ? "a" : "b";
const OTHER = SIDES === "human" ? "b" : "a";

interface Asked {
  place: string;
  /** The field to write; all are read where there is none. */
  write?: string;
}

async function read(flow: FlowState): Promise<Record<string, unknown>> {
  await flow.storage.put("kept", 7);
  return {
    threadId: flow.threadId,
    flowId: flow.flowId,
    thread: [flow.thread.instance.id, flow.thread.metadata.agent_id, flow.thread.metadata.user_id],
    agentConfig: [flow.agentConfig.name, flow.agentConfig.type],
    currentSide: flow.currentSide,
    turnCount: flow.turnCount,
    stopped: flow.stopped,
    stoppedBy: String(flow.stoppedBy),
    messageHistory: flow.messageHistory.map((message) => message.role).join(" "),
    sequence: [flow.sequence.isHandling, flow.sequence.queue.map((call) => call.function.name).join(" ")],
    storage: await flow.storage.get("kept"),
    env: flow.env.REGION,
    context: Object.keys(flow.context).length,
    rootState: String(flow.rootState),
    isChildPrompt: String(flow.isChildPrompt),
  };
}

const write: Record<string, (flow: FlowState, place: string) => unknown> = {
  currentSide: (flow) => (flow.currentSide = OTHER),
  turnCount: (flow) => (flow.turnCount = 40),
  stopped: (flow) => (flow.stopped = true),
  stoppedBy: (flow) => Object.assign(flow, { stopped: true, stoppedBy: OTHER }),
  messageHistory: (flow, place) => {
    flow.messageHistory.push({ id: "", role: "system", content: place, created_at: Date.now() * 1000 });
    flow.context.mark = flow.messageHistory.at(-1)?.content;
  },
  sequence: (flow) =>
    flow.sequence.queue.push({ id: "own", type: "function", function: { name: "mark", arguments: "{}" } }),
  storage: (flow, place) => flow.storage.put("mark", place),
  context: (flow, place) => (flow.context.mark = place),
};

/** Does what the message asks for, once, if this is the place. */
async function at(flow: FlowState, place: string): Promise<undefined> {
  const first = flow.messageHistory[0]?.content;
  if (!first || flow.currentSide !== ACTING || flow.context.done) return;
  const asked = JSON.parse(first) as Asked;
  if (asked.place !== place) return;
  if (asked.write) await write[asked.write]?.(flow, place);
  else flow.context.seen = await read(flow);
  flow.context.done = true;
}

const isNew = (message: Message) => message.status === "pending";

defineHook("filter_messages", (flow) => at(flow, "filter_messages"));
defineHook("prefilter_llm_history", (flow) => at(flow, "prefilter_llm_history"));
defineHook("before_create_message", (flow, message) =>
  isNew(message) ? at(flow, "before_create_message") : undefined,
);
defineHook("after_create_message", (flow, message) => (isNew(message) ? at(flow, "after_create_message") : undefined));
defineHook("before_update_message", (flow) => at(flow, "before_update_message"));
defineHook("after_update_message", (flow) => at(flow, "after_update_message"));
defineHook("after_tool_call_success", (flow) => at(flow, "after_tool_call_success"));
defineHook("after_tool_call_failure", (flow) => at(flow, "after_tool_call_failure"));

export const probe = defineTool("Succeeds", async (flow) => {
  await at(flow, "tool");
  return "fine";
});
export const broken = defineTool("Fails", () => ({ status: "error", error: "broken" }));
export const mark = defineTool("Is queued by code", () => "marked");

const shared = { prompt: "Talk.", model: "m", includeChat: true, tools: ["probe", "broken"] };
definePrompt({ name: "ann", ...shared });
definePrompt({ name: "bob", ...shared });

export default defineAgent({
  name: "fields",
  type: SIDES === "human" ? "ai_human" : "dual_ai",
  maxSessionTurns: SIDES === "human" ? 200 : 1,
  sideA: { prompt: "ann" },
  sideB: SIDES === "human" ? {} : { prompt: "bob" },
});
