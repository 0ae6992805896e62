/**
 * An agent and a person: turns, tools and what they read and write of the `FlowState`, sub-prompts, bad input.
 */
import {
  defineAgent,
  definePrompt,
  defineTool,
  emitThreadEvent,
  forceTurn,
  getMessages,
  injectMessage,
  queueMessage,
  queueTool,
  reloadHistory,
} from "@standardagents/builder";
import { z } from "zod";

/** The snippet of the guide, word for word but for the export. */
export const example = defineTool("Example tool", z.object({ input: z.string() }), async (flow, _args) => {
  // Access FlowState properties
  console.log("Thread ID:", flow.threadId);
  console.log("Turn count:", flow.turnCount);
  console.log("Message count:", flow.messageHistory.length);

  return {
    status: "success",
    result: "Done",
  };
});

export const say = defineTool("Says a text", z.object({ text: z.string() }), (_flow, args) => args.text);

/** Every field of the interface. */
export const look = defineTool("Looks at the state", async (flow) => ({
  status: "success",
  result: {
    ids: [typeof flow.threadId, typeof flow.flowId, flow.thread.instance.id === flow.threadId],
    agent: flow.agentConfig.name,
    side: flow.currentSide,
    turns: flow.turnCount,
    stopped: [flow.stopped, flow.stoppedBy ?? null],
    history: flow.messageHistory.map((message) => message.role),
    waiting: flow.sequence.queue.map((call) => call.function.name),
    handling: flow.sequence.isHandling,
    stored: (await flow.storage.get("n")) ?? null,
    env: Object.keys(flow.env),
    context: flow.context,
    child: flow.isChildPrompt ?? false,
    root: flow.rootState ? [flow.rootState.agentConfig.name, flow.rootState.threadId === flow.threadId] : null,
  },
}));

/** Writes what may be written, and sees it at once. */
export const change = defineTool("Writes to the state", async (flow) => {
  flow.context.note = "written";
  flow.turnCount = 40;
  flow.messageHistory.push({ id: "", role: "system", content: "added", created_at: flow.messageHistory.length });
  flow.sequence.queue.push({
    id: "own_call",
    type: "function",
    function: { name: "say", arguments: '{"text":"from the queue"}' },
  });
  await flow.storage.put("n", ((await flow.storage.get<number>("n")) ?? 0) + 1);
  if (flow.rootState) flow.rootState.context.child = "was here";
  return `${flow.context.note} ${flow.turnCount} ${await flow.storage.get("n")}`;
});

const FIXED = ["threadId", "flowId", "thread", "agentConfig", "env", "storage", "rootState", "isChildPrompt"] as const;

export const refuse = defineTool("Writes what may not be written", (flow) => {
  const refused = FIXED.filter((field) => {
    try {
      (flow as unknown as Record<string, unknown>)[field] = "x";
      return false;
    } catch {
      return true;
    }
  });
  return refused.join(" ");
});

export const odd = defineTool("Writes a value that no field has", z.object({ field: z.string() }), (flow, args) => {
  (flow as unknown as Record<string, unknown>)[args.field] = { odd: true };
});

export const stop = defineTool("Stops", (flow) => {
  flow.stopped = true;
  return "stopping";
});

export const queue_say = defineTool("Queues a tool", (flow) => {
  queueTool(flow, "hidden", { text: "queued" });
  return `waiting: ${flow.sequence.queue.map((call) => call.function.name).join(" ")}`;
});

/** In no prompt's list: only code can call it. */
export const hidden = defineTool("Is called by code only", z.object({ text: z.string() }), (_flow, args) => args.text);

export const inject = defineTool("Injects a message", async (flow) => {
  const first = flow.messageHistory[0];
  const made = await injectMessage(flow, { role: "system", content: "before", beforeMessageId: first?.id, silent: true });
  await reloadHistory(flow);
  const all = await getMessages(flow, 2, 0, "asc");
  let wrong = "";
  try {
    await injectMessage(flow, { role: "system", content: "x", beforeMessageId: "nobody" });
  } catch (error) {
    wrong = (error as Error).message;
  }
  return [made.created_at === (first?.created_at ?? 0) - 1, all.map((one) => one.content), flow.messageHistory.length, wrong];
});

export const again = defineTool("Queues a message", (flow) => {
  queueMessage(flow, { role: "user", content: "and then?" });
  return "queued";
});

export const park = defineTool("Gives the turn to the person, after a queued tool", (flow) => {
  queueTool(flow, "say", { text: "first" });
  forceTurn(flow, "side_b");
  return "parked";
});

export const tell = defineTool("Tells whoever watches", (flow) => emitThreadEvent(flow, "progress", { percent: 50 }));

export const strict = defineTool("Takes a number", z.object({ n: z.number() }), (_flow, args) => args.n);

export const boom = defineTool("Throws", () => {
  throw new Error("it broke");
});

export const never = defineTool("Never answers", () => new Promise(() => {}));

export const endless = defineTool("Queues itself", (flow) => queueTool(flow, "endless"));

/** More than a megabyte of run data. */
export const big = defineTool("Keeps a large value", (flow) => {
  flow.context.large = "x".repeat(1_200_000);
  return String((flow.context.large as string).length);
});

const all = ["example", "say", "look", "change", "refuse", "odd", "stop", "queue_say", "inject", "again", "park", "tell"];

export const helper = definePrompt({
  name: "helper",
  toolDescription: "Helps with a part",
  prompt: "You help with {{topic}}.",
  model: "m",
  requiredSchema: z.object({ topic: z.string() }),
  tools: ["look", "change", "boom", "say", { name: "helper", initUserMessageProperty: "topic" }],
});

export const terse = definePrompt({ name: "terse", toolDescription: "Helps", prompt: "You help.", model: "m", tools: ["say"] });

export const main = definePrompt({
  name: "main",
  prompt: [{ type: "text", content: "You are {{who}}. " }, { type: "include", prompt: "terse" }],
  model: "m",
  includeChat: true,
  includePastTools: true,
  tools: [
    ...all,
    "strict",
    "boom",
    "never",
    "big",
    "endless",
    { name: "helper", initUserMessageProperty: "topic" },
    { name: "terse", includeToolCalls: false },
  ],
});

export default defineAgent({
  name: "agents-human",
  type: "ai_human",
  sideA: { prompt: "main", stopOnResponse: true, maxTurns: 20 },
  sideB: {},
});
