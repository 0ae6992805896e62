/** A side that no answer stops: only its stop tool does, or the limit of its turns. */
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";

export const finish = defineTool("Finishes", z.object({ answer: z.string() }), async (flow) => {
  await flow.storage.put("finished", flow.turnCount);
  return "finished";
});

export const steady = definePrompt({ name: "steady", prompt: "Go on.", model: "m", tools: ["finish"] });

export default defineAgent({
  name: "agents-steady",
  sideA: {
    prompt: "steady",
    stopOnResponse: false,
    stopTool: "finish",
    stopToolResponseProperty: "answer",
    maxTurns: 3,
  },
  sideB: { human: true },
});
