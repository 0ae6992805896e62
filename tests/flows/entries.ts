/**
 * What is run by something else than a person's call: schedules, webhooks, a bot's events, internal and task entries.
 */

import { defineFlow, defineScheduleBinding, defineWebhookBinding, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

interface Paid { type: string; data: { object: { id: string; customer: string; status: string } } }

const record = handler({
  name: "record",
  inputSchema: z.object({ invoiceId: z.string() }),
  execute: async ({ invoiceId }, ctx) => {
    await ctx.session.pushState("log", invoiceId);
    return { invoiceId, user: ctx.user.identity.id, session: ctx.session.identity.id };
  },
});
const echo = handler({ name: "echo", execute: (input, ctx) => ({ input, user: ctx.user.identity.id, project: ctx.org?.identity.id ?? null }) });
const asks = handler({ name: "asks", execute: (input, ctx) => ctx.suspend({ reason: "human_input", message: String(input) }) });
const sum = sequencer({ name: "sum", inputSchema: z.object({ a: z.number(), b: z.number() }) })
  .step(({ a, b }: any) => a + b, handler({ name: "same", execute: (n: number) => n }));

export default defineFlow({
  kind: "entries",
  authentication: { defaultUserId: "house" },
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  actions: { say: { block: echo } },
  internal: { actions: { sum: { block: sum, description: "Adds up." }, ask: { block: asks } } },
  task: { actions: { work: { block: echo } } },
  webhooks: {
    stripe: {
      on: {
        "invoice.paid": defineWebhookBinding<Paid>({
          block: record,
          input: (e) => ({ invoiceId: e.payload.data.object.id }),
          sessionId: (e) => `customer-${e.payload.data.object.customer}`,
          when: (e) => e.payload.data.object.status === "paid",
        }),
        "invoice.gone": { block: record, input: async (e) => ({ invoiceId: (e.payload as any).id }) },
      },
    },
    github: { on: { push: { block: echo, input: (e) => [e.provider, e.eventType, e.headers.get("x-github-event"), e.deliveryId ?? null, new TextDecoder().decode(e.rawBody)] } } },
  },
  chat: { on: { mention: { block: echo, input: (e: any) => ({ kind: e.kind, text: e.text }) } } },
  schedules: {
    static: {
      "nightly-digest": defineScheduleBinding({ cron: "0 3 * * *", block: echo, description: "At three", input: { pages: 2 }, timezone: "Europe/Berlin" }),
      "at-the-hour": { cron: "0 * * * MON-FRI", block: echo, input: (ctx: any) => ctx, principal: { userId: "cron", orgId: "acme" }, enabled: false },
      "by-name": { cron: "@daily", action: "say", input: "older" },
      "asks-first": { cron: "*/5 * * * *", block: asks, input: "Now?" },
    },
    resolve: async (id: string, { flowKind }: any) => {
      const [userId = "", key] = id.split("/");
      if (key === "never") return { cron: "61 * * * *", block: asks, principal: { userId } };
      return key === "reminder" ? { cron: "0 9 * * *", block: asks, input: `${flowKind} ${id}`, principal: { userId } } : null;
    },
  },
});
