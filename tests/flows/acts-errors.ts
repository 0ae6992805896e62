/** Calls that cannot run: each is refused by name, and the next request is told. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
import type { Message } from "acts";

const scopes = { type: "array", items: { enum: ["state", "input", "notes"] } };
const place = { type: "string", pattern: "^†" };
const analytics = { track: async (eventName: string, about: object) => ({ eventName, ...about }) };

Tool.register("sendMessage", {
  type: "object",
  properties: {
    recipientId: { type: "string" },
    message: { type: "string" },
    _scopes: scopes,
    _output: { type: "object" },
    _outputPath: place,
  },
  required: ["recipientId", "message"],
});

Tool.register("logEvent", {
  type: "object",
  properties: { eventName: { type: "string" }, _scopes: { const: ["state"] }, _outputPath: place },
  required: ["eventName"],
});
Activity.register("logEvent", async ({ eventName }, { state }) => {
  const userId = state.userId;
  return await analytics.track(eventName, { userId });
});

Tool.register("see", {
  properties: { note: {}, _scopes: scopes, _instance: { type: "string" }, _outputPath: place },
});
Activity.register("see", (_call, scoped) => scoped);

Tool.register("seeInput", { properties: { _scopes: { const: ["input"] }, _outputPath: place } });
Activity.register("seeInput", (_call, scoped) => scoped);

Tool.register("seeAs", { properties: { _activity: { const: "see" }, _scopes: scopes, _outputPath: place } });

Tool.register("summarizeArticle", {
  properties: { _delegate: { const: "SummarizerAgent" }, _scopes: scopes, _outputPath: place },
});
Delegate.register("SummarizerAgent", {
  context: [{ type: "system", message: "You are an expert summarizer." }],
  schema: { type: "object", properties: { summary: { type: "string" } } },
});

Tool.register("translate", {
  properties: { to: { type: "string" }, _delegate: { type: "string" }, _scopes: scopes, _outputPath: place },
});
Delegate.register("translatorDelegate", {
  context: [{ type: "system", message: "You are a translator." }],
  schema: { type: "object", properties: { text: { type: "string" } } },
});

Tool.register("translateHere", {
  properties: {
    _delegate: { const: "translatorDelegate" },
    _activity: { const: "see" },
    _scopes: scopes,
    _outputPath: place,
  },
});

const agent = Agent<Message[]>({
  name: "orchestrator",
  model: "gpt-5-mini",
  schema: { type: "object", properties: { done: { type: "boolean" } } },
  context: (given) => [
    ...given,
    ...["sendMessage", "logEvent", "see", "seeInput", "seeAs", "summarizeArticle", "translate", "translateHere"].map(
      (tool): Message => ({ type: "tool", tool }),
    ),
  ],
});

export default defineFlow({ kind: "acts-errors", actions: { run: { block: agent } } });
