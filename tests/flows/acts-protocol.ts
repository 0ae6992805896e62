/** What a model is offered, where results go, plans, many instances, and the limits where an agent sets none. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Delegate, Tool } from "acts";
import type { Message } from "acts";

const place = { type: "string", pattern: "^†" };
const named = (names: string[]): Message[] => names.map((tool) => ({ type: "tool", tool }));

Tool.register("greetUser", {
  type: "object",
  description: "Greets",
  properties: { userName: { type: "string" }, _output: { type: "string" } },
  required: ["userName"],
});
Tool.register("shoutAt", { type: "object", properties: { userName: { type: "string" } }, required: ["userName"] });
Activity.register("shoutAt", ({ userName }) => String(userName).toUpperCase());

/** Tells a text from what is none, and chooses where it goes. */
Tool.register("sort", { properties: { text: {}, how: {}, _scopes: { const: ["state"] }, _outputPath: place } });
Activity.register("sort", ({ text, how }) => {
  if (how === "message") return { type: "state", [text === "" ? "empty" : "full"]: { text } };
  if (how === "plain") return { text };
  const chosen = how === "beyond" ? "†state.beyond" : "†state.full";
  return { _outputPath: text === "" ? "†state.empty" : chosen, value: text };
});
Tool.register("use", { properties: { of: {}, _outputPath: place } });
Activity.register("use", ({ of }) => ({ used: of }));
Tool.register("add", { properties: { value: {}, _outputPath: place, _outputMethod: {} } });
Activity.register("add", ({ value }) => value);
const sentiment = { const: "†state.sentiment" };
Tool.register("judge", { properties: { _instance: {}, _scopes: { const: ["input"] }, _outputPath: sentiment } });
Activity.register("judge", (_call, { input }) => `${input.text}!`);
Tool.register("down", { properties: { _delegate: { const: "deeper" }, _outputPath: { const: "†data.found" } } });
Delegate.register("deeper", { context: named(["down"]) });
Tool.register("think", { properties: { _output: {}, _outputPath: place } });

const all = ["greetUser", "shoutAt", "sort", "use", "add", "judge", "down", "think"];
const agent = Agent<Message[] | number>({
  name: "main",
  model: "gpt-5-mini",
  schema: { type: "object", properties: { summary: {} }, required: ["summary"] },
  context: (given) => {
    if (typeof given !== "number") return given;
    const input = (_: unknown, n: number): Message => ({ type: "input", text: `t${n}`, _instance: `i${n}` });
    return [...Array.from({ length: given }, input), ...named(all)];
  },
});

export default defineFlow({ kind: "acts-protocol", actions: { run: { block: agent } } });
