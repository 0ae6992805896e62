/** Calls for help: a customer with a premium contract is called back at once, everybody else gets an answer by mail. */
import { defineFlow, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const call = z.object({ customer: z.string(), question: z.string().min(1) });
const contract = z.object({ plan: z.enum(["basic", "premium"]), since: z.string() });
const ticket = call.extend({ plan: contract.shape.plan });

/** What the customer register answers, as text. */
const REGISTER: Record<string, string> = {
  "C-1": '{"plan":"basic","since":"2024-03-01"}',
  "C-7": '{"plan":"premium","since":"2019-11-04","notes":"prefers mornings",}',
  "C-9": '{"plan":"premium","since":"2025-01-15"}',
};

const findContract = handler({
  name: "find-contract",
  inputSchema: call,
  outputSchema: ticket,
  execute: ({ customer, question }) => {
    try {
      const { plan } = contract.parse(JSON.parse(REGISTER[customer] ?? "null"));
      return { customer, question, plan };
    } catch {
      // New customers are not in the register before the first night has passed.
      return { customer, question, plan: "basic" as const };
    }
  },
});

const callBack = handler({
  name: "call-back",
  inputSchema: ticket,
  execute: ({ customer }, ctx) => {
    ctx.emit.component("call", { customer, minutes: 10 });
    ctx.emit.message("We call you within ten minutes.");
    return { by: "phone" };
  },
});

const answerByMail = handler({
  name: "answer-by-mail",
  inputSchema: ticket,
  execute: (_ticket, ctx) => {
    ctx.emit.message("Thank you! You get an answer by mail within three days.");
    return { by: "mail" };
  },
});

const desk = router({
  name: "desk",
  inputSchema: ticket,
  routes: [callBack, answerByMail],
  execute: ({ plan }) => (plan === "premium" ? callBack : answerByMail),
});

const takeCall = sequencer({ name: "take-call", inputSchema: call }).step(findContract).step(desk);

export default defineFlow({ kind: "phone-support", actions: { call: { inputSchema: call, block: takeCall } } });
