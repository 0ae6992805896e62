/** Two sides that answer each other, and two agents that are called as tools. */
import { defineAgent, definePrompt, defineTool, forceTurn, queueTool } from "@standardagents/builder";
import { z } from "zod";

export const agree = defineTool("Ends the conversation", z.object({ price: z.number() }), (flow, args) =>
  args.price > 0 ? { status: "success", result: `agreed by ${flow.currentSide}` } : { status: "error", error: "too low" },
);

export const peek = defineTool("Looks", (flow) => {
  flow.context[flow.currentSide] = flow.turnCount;
  return flow.messageHistory.map((message) => message.role).join(" ");
});

export const give = defineTool(
  "Gives the turn to a side, after a queued tool",
  z.object({ side: z.enum(["side_a", "side_b"]), stop: z.boolean().optional() }),
  (flow, args) => {
    if (args.stop) flow.stopped = true;
    else queueTool(flow, "peek", {});
    forceTurn(flow, args.side);
    return "given";
  },
);

export const halt = defineTool("Stops", (flow) => {
  flow.stopped = true;
  return "halted";
});

export const ann = definePrompt({ name: "ann", prompt: "You are Ann.", model: "m", includeChat: true, tools: ["peek", "give", { name: "judge", initUserMessageProperty: "case" }, "cats"] });
export const bob = definePrompt({ name: "bob", prompt: "You are Bob.", model: "m", includeChat: true, tools: ["peek"] });
export const judge_prompt = definePrompt({ name: "judge_prompt", prompt: "You judge {{case}}.", model: "m", requiredSchema: z.object({ case: z.string() }) });

export const cat = definePrompt({
  name: "cat",
  prompt: "You are Cat.",
  model: "m",
  includeChat: true,
  includePastTools: true,
  tools: ["halt", "peek"],
});

export const judge = defineAgent({ name: "judge", exposeAsTool: true, toolDescription: "Judges", sideA: { prompt: "judge_prompt" } });

export const cats = defineAgent({ name: "cats", exposeAsTool: true, sideA: { prompt: "cat" } });

export default defineAgent({
  name: "agents-two",
  type: "dual_ai",
  maxSessionTurns: 2,
  sideA: { prompt: "ann", stopOnResponse: true },
  sideB: { prompt: "bob", stopOnResponse: true, endConversationTool: { name: "agree", messageProperty: "note" } },
});
