/** Two sides that answer each other, and a third agent that takes over. */
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";

export const agree = defineTool("Ends the conversation", z.object({ price: z.number() }), (flow, args) =>
  args.price > 0 ? { status: "success", result: `agreed by ${flow.currentSide}` } : { status: "error", error: "too low" },
);

export const peek = defineTool("Looks", (flow) => {
  flow.context[flow.currentSide] = flow.turnCount;
  return flow.messageHistory.map((message) => message.role).join(" ");
});

export const ann = definePrompt({ name: "ann", prompt: "You are Ann.", model: "m", includeChat: true, tools: ["peek", "judge"] });
export const bob = definePrompt({ name: "bob", prompt: "You are Bob.", model: "m", includeChat: true, tools: ["peek"] });
export const judge_prompt = definePrompt({ name: "judge_prompt", prompt: "You judge {{case}}.", model: "m" });

export const judge = defineAgent({ name: "judge", exposeAsTool: true, toolDescription: "Judges", sideA: { prompt: "judge_prompt" } });

export default defineAgent({
  name: "agents-two",
  type: "dual_ai",
  maxSessionTurns: 2,
  sideA: { prompt: "ann", stopOnResponse: true },
  sideB: { prompt: "bob", stopOnResponse: true, endConversationTool: { name: "agree", messageProperty: "note" } },
});
