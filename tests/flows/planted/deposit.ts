/** The desk of a holiday flat: it takes the deposit of a booking from the guest's card and sends a receipt. */
import { defineAgent, defineHook, definePrompt, defineTool, queueTool } from "@standardagents/builder";
import type { FlowState } from "@standardagents/builder";
import { z } from "zod";

interface Charge {
  booking: string;
  eur: number;
}

/** The receipt service sleeps when nobody needs it, and the first message only wakes it. */
async function sendReceipt(flow: FlowState, charge: Charge): Promise<boolean> {
  const isAwake = (await flow.storage.get<boolean>("receiptsAwake")) ?? false;
  await flow.storage.put("receiptsAwake", true);
  if (isAwake) await flow.storage.put("receipt", `Deposit of ${charge.eur} EUR for ${charge.booking}`);
  return isAwake;
}

export const take_deposit = defineTool(
  "Takes the deposit of a booking from the guest's card, and sends the receipt",
  z.object({ booking: z.string(), eur: z.number() }),
  async (flow, charge) => {
    const charges = (await flow.storage.get<Charge[]>("charges")) ?? [];
    await flow.storage.put("charges", [...charges, charge]);
    if (!(await sendReceipt(flow, charge))) return { status: "error", error: "receipts: no answer" };
    return { status: "success", result: `The deposit of ${charge.booking} is taken, and the receipt is sent` };
  },
);

/** Services that sleep answer the second time. */
defineHook("after_tool_call_failure", (flow, call, result) => {
  if (result.error?.includes("no answer")) {
    queueTool(flow, call.function.name, JSON.parse(call.function.arguments));
  }
});

export const desk = definePrompt({
  name: "deposit_desk",
  prompt: "You take deposits for holiday flats. Say when it is done.",
  model: "gpt-5-mini",
  includeChat: true,
  includePastTools: true,
  tools: ["take_deposit"],
});

export default defineAgent({
  name: "deposit",
  type: "ai_human",
  sideA: { label: "Desk", prompt: "deposit_desk", stopOnResponse: true, maxTurns: 6 },
  sideB: { label: "Guest" },
});
