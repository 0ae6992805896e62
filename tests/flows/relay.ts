/**
 * Messages that sessions of a flow send each other.
 */

import { defineFlow, defineRelayBinding, dispatchThroughSeam, FlowError, generator, handler, relaySendTool, requireRequestHost, sequencer } from "@flow-state-dev/core";
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
// Functions of a chain, before and after a question: a resume calls the first ones no more.
const say = (to: string, stage: string, ctx: any) => ctx.requestHost.sendMessage({ to, kind: "status", payload: { stage } });
const hand = (to: string, stage: string, ctx: any) =>
  dispatchThroughSeam(ctx, { type: "internal", target: "note", session: { id: to }, payload: { stage, from: "seam" }, from: "seam" });
const gate = handler({ name: "gate", execute: async (to: string, ctx) => { await ctx.suspend({ reason: "human_input", message: "on?" }); return to; } });
const chain = (name: string, send: typeof say) => sequencer({ name, inputSchema: z.string() })
  .map(async (to, ctx) => { await send(to, "first", ctx); await send(to, "again", ctx); return to; })
  .step(gate)
  .map(async (to, ctx) => (await send(to, "second", ctx)).ok);
const tries = handler({
  name: "tries",
  inputSchema: z.string(),
  retry: { maxAttempts: 3, baseDelayMs: 1 },
  execute: async (to, ctx) => {
    await say(to, "one", ctx);
    await hand(to, "two", ctx);
    const { ok } = await say(ctx.attempt < 2 ? "nowhere" : to, "three", ctx);
    if (!ok) throw new FlowError("once more", { retryable: true });
    return ctx.attempt;
  },
});
const twice = handler({
  name: "twice",
  inputSchema: z.string(),
  execute: async (to, ctx) => {
    const message = { to, kind: "slow" };
    const all = [await ctx.requestHost!.sendMessage(message), await ctx.requestHost!.sendMessage(message)];
    return all.map((told) => (told.ok ? told.outcome : told.refused));
  },
});
const agent = generator({ name: "agent", model: "tiny", prompt: "Tell them.", user: "go", tools: [relaySendTool()] });

export default defineFlow({
  kind: "relay",
  session: { stateSchema: z.object({ heard: z.array(z.string()).default([]) }) },
  relay: {
    on: {
      status: { block: hear, input: ({ payload, from }: any) => ({ stage: payload.stage, from }) },
      owned: { block: handler({ name: "owned", requireOrg: true, execute: () => 1 }), input: () => 1 },
      slow: {
        block: handler({ name: "slow", execute: () => new Promise<number>((resolve) => setTimeout(() => resolve(1), 2000)) }),
        concurrency: { policy: "reject", key: "session" },
        input: () => 1,
      },
      plain: defineRelayBinding<string>({ block: handler({ name: "plain", execute: (said: string) => said }), input: ({ payload }) => payload }),
    },
  },
  actions: {
    open: { block: handler({ name: "open", execute: () => "open" }) },
    send: { block: send },
    both: { block: both },
    tell: { block: agent },
    chain: { block: chain("chain", say) },
    seam: { block: chain("seam", hand) },
    tries: { block: tries },
    twice: { block: twice },
  },
  internal: { actions: { note: { block: hear } } },
});
