/** Books tables of a restaurant in New York, and sends the guest a reminder for the day of the dinner. */
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
import { z } from "zod";

interface Booking {
  day: string;
  guests: number;
}

export const book_table = defineTool(
  "Books a table. The time has the offset of the restaurant, like 2026-03-02T19:00:00-05:00",
  z.object({ at: z.string(), guests: z.number().int() }),
  async (flow, { at, guests }) => {
    const dinner = new Date(at);
    if (Number.isNaN(dinner.getTime())) return { status: "error", error: `${at} is no time` };
    const day = dinner.toISOString().slice(0, 10);
    await flow.storage.put("booking", { day, guests } satisfies Booking);
    return { status: "success", result: `A table for ${guests} is booked` };
  },
);

export const send_reminder = defineTool("Sends the guest a reminder of the booking", z.object({}), async (flow) => {
  const booking = await flow.storage.get<Booking>("booking");
  if (!booking) return { status: "error", error: "There is no booking" };
  await flow.storage.put("reminder", `Your table for ${booking.guests} is reserved on ${booking.day}.`);
  return { status: "success", result: "The reminder is sent" };
});

export const host = definePrompt({
  name: "host",
  prompt: "You book tables in New York, which is at UTC-05:00 in winter. Send a reminder with every booking.",
  model: "gpt-5-mini",
  includeChat: true,
  includePastTools: true,
  tools: ["book_table", "send_reminder"],
});

export default defineAgent({
  name: "table-reminder",
  type: "ai_human",
  sideA: { label: "Host", prompt: "host", stopOnResponse: true, maxTurns: 6 },
  sideB: { label: "Guest" },
});
