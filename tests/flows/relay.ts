/**
 * Messages that sessions of a flow send each other.
 */

import { defineFlow, defineRelayBinding, generator, handler, relaySendTool, requireRequestHost } from "@flow-state-dev/core";
import { z } from "zod";

const hear = handler({
  name: "hear",
  inputSchema: z.object({ stage: z.string(), from: z.string() }),
  execute: async (input, ctx: any) => { await ctx.session.pushState("heard", `${input.stage} from ${input.from}`); },
});
const send = handler({ name: "send", execute: async (message: any, ctx) => (await ctx.requestHost!.sendMessage(message)) as any });
const both = handler({
  name: "both",
  execute: async ({ to }: { to: string }, ctx) => {
    const message = (stage: string) => ({ to, kind: "status", payload: { stage }, mode: "fireAndForget" as const });
    const all = [await requireRequestHost(ctx).sendMessage(message("one")), await requireRequestHost(ctx).sendMessage(message("two"))];
    await ctx.suspend({ reason: "human_input", message: "more?" });
    return all.map(({ ok }) => ok);
  },
});
const agent = generator({ name: "agent", model: "tiny", prompt: "Tell them.", user: "go", tools: [relaySendTool()] });

export default defineFlow({
  kind: "relay",
  session: { stateSchema: z.object({ heard: z.array(z.string()).default([]) }) },
  relay: {
    on: {
      status: { block: hear, input: ({ payload, from }: any) => ({ stage: payload.stage, from }) },
      plain: defineRelayBinding<string>({ block: handler({ name: "plain", execute: (said: string) => said }), input: ({ payload }) => payload }),
    },
  },
  actions: {
    open: { block: handler({ name: "open", execute: () => "open" }) },
    send: { block: send },
    both: { block: both },
    tell: { block: agent },
  },
});
