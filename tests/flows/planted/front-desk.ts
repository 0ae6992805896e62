/** The front desk of a hotel: it looks rooms, rates and wishes up before it answers a guest. */
import { defineAgent, defineHook, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";

const ROOMS: Record<string, { free: number; eur: number }> = {
  garden: { free: 2, eur: 140 },
  lake: { free: 1, eur: 190 },
};

export const find_rooms = defineTool("Lists the rooms that are free", z.object({ night: z.string() }), () =>
  Object.entries(ROOMS)
    .map(([name, { free }]) => `${name}: ${free} free`)
    .join(", "),
);

export const find_rate = defineTool("Finds the price of a room", z.object({ room: z.string() }), (_flow, { room }) =>
  ROOMS[room] ? `${room}: ${ROOMS[room].eur} EUR a night` : { status: "error", error: `There is no room ${room}` },
);

export const find_guest = defineTool("Finds what the house knows of a guest", z.object({ name: z.string() }), () => ({
  status: "success",
  result: "Third stay. Likes a quiet room.",
}));

/** Long conversations cost more than they help: the model reads the newest part. */
const WINDOW = 6;

defineHook("prefilter_llm_history", (_flow, messages) => {
  const newest = messages.slice(-WINDOW);
  return newest;
});

export const reception = definePrompt({
  name: "reception",
  prompt: "You work at the front desk of a hotel. Prices are fixed: never promise a discount.",
  model: "gpt-5-mini",
  includeChat: true,
  includePastTools: true,
  tools: ["find_rooms", "find_rate", "find_guest"],
});

export default defineAgent({
  name: "front-desk",
  type: "ai_human",
  sideA: { label: "Reception", prompt: "reception", stopOnResponse: true, maxTurns: 10 },
  sideB: { label: "Guest" },
});
