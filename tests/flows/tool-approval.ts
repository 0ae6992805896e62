/**
 * Calls of tools that a person must allow: what a tool says in `approval`, and what its generator makes of that.
 *
 * `log` holds what has run.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const say = (ctx: any, text: string) => ctx.session.pushState("log", text);

const otherwise = handler({ name: "otherwise", execute: async (_error, ctx) => { await say(ctx, "rescued"); return "otherwise"; } });
const pay = handler({
  name: "pay",
  description: "Pays",
  inputSchema: z.object({ to: z.string(), eur: z.number().default(1) }),
  approval: {
    required: (args) => args.eur > 20,
    message: (args) => `Pay ${args.eur} EUR to ${args.to}?`,
    render: { component: "payment" },
  },
  retry: { maxAttempts: 3, baseDelayMs: 1 },
  onErrored: (error, ctx) => say(ctx, `pay: ${error.message}`),
  rescue: [{ block: otherwise }],
  execute: async (input: any, ctx) => {
    await say(ctx, `paid ${input.eur}, attempt ${ctx.attempt}`);
    if (input.to === "nobody") throw new Error("no such account");
    return { paid: input.eur };
  },
});
const mail = handler({ name: "mail", description: "Sends", approval: { required: true }, execute: async (_input, ctx) => { await say(ctx, "mailed"); return "mailed"; } });
const look = handler({ name: "look", description: "Looks", execute: async (_input, ctx) => { await say(ctx, "looked"); return "seen"; } });
const errand = sequencer({ name: "errand", inputSchema: z.any(), approval: { required: true, message: "Run the errand?" } }).step(look).step(mail);
/** It asks while the session is strict, which changes before it is answered. */
const fickle = handler({
  name: "fickle",
  description: "Changes its mind",
  approval: { required: (_args, ctx: any) => ctx.session.state.strict },
  execute: async (_input, ctx) => { await say(ctx, "fickle"); return "done"; },
});
/** Its handlers are read before its approval is. */
const drop = handler({ name: "drop", description: "Drops", approval: { required: () => false }, execute: () => { throw new RangeError("gone"); } }).rescue([{ when: [RangeError], block: otherwise }]);
const bot = (name: string, tools: any, more: object = {}) => generator({ name, model: "tiny", prompt: "Go on.", tools, ...more });

export default defineFlow({
  kind: "tool-approval",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), strict: z.boolean().default(true) }) },
  actions: {
    manual: { block: bot("manual", [pay, mail, look]) },
    dropped: { block: bot("dropped", [drop]) },
    auto: { block: bot("auto", [pay, mail], { toolApproval: "auto" }) },
    all: { block: bot("all", [look], { toolApproval: "all" }) },
    rules: { block: bot("rules", [look, mail], { toolApproval: { require: ["look"], autoApprove: ["mail"] } }) },
    chosen: {
      block: bot("chosen", [pay, mail, look], {
        toolApproval: {
          autoApprove: (call: any) => call.toolName === "mail" || call.arguments.to === "me",
          require: async (call: any) => call.description === "Looks",
        },
      }),
    },
    soon: { block: bot("soon", [mail], { toolApproval: { timeoutMs: 1 } }) },
    later: { block: bot("later", () => [mail]) },
    wrapped: { block: bot("wrapped", [mail.asTool()]) },
    chain: { block: bot("chain", [errand]) },
    step: { block: sequencer({ name: "step", inputSchema: z.any() }).step(mail) },
    fickle: { block: bot("fickleBot", [fickle]) },
    relax: { block: handler({ name: "relax", execute: (_input, ctx: any) => ctx.session.patchState({ strict: false }) }) },
  },
});
