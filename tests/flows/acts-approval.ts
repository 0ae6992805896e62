/** Calls that a person has to agree to, after they are scoped and before they run. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";

Tool.register("transfer", {
  type: "object",
  properties: {
    amount: { type: "number", maximum: 1000 },
    _scopes: { type: "array", items: { enum: ["account", "customer"] } },
    _outputPath: { const: "†state.transfer" },
  },
  required: ["amount"],
});
Activity.register("transfer", ({ amount }, scoped) => ({ amount, saw: Object.keys(scoped) }));

const agent = Agent({
  name: "teller",
  model: "gpt-5-mini",
  context: [
    { type: "data", kind: "account", data: { iban: "DE00" } },
    { type: "data", kind: "customer", data: { name: "Ada" } },
    { type: "tool", tool: "transfer" },
  ],
  confirm: (call) => call.amount > 10,
});

export default defineFlow({ kind: "acts-approval", actions: { run: { block: agent } } });
