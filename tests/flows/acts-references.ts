/** References, output paths, and the order they give the Calls of a solution. The input is the context. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
import type { Message } from "acts";

Tool.register("add", {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" }, _outputPath: { type: "string", pattern: "^†" } },
  required: ["a", "b"],
});
Activity.register("add", ({ a, b }) => a + b);

Tool.register("fail", { properties: { _outputPath: { type: "string" } } });
Activity.register("fail", () => {
  throw new Error("this Activity fails", { cause: "a secret" });
});

const agent = Agent<Message[]>({
  name: "adder",
  model: "gpt-5-mini",
  maxTicks: 5,
  context: (given) => [...given, { type: "tool", tool: "add" }, { type: "tool", tool: "fail" }],
});

export default defineFlow({ kind: "acts-references", actions: { run: { block: agent } } });
