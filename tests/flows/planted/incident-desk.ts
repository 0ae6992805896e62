/** Reports of trouble: what the monitor says of a service decides who looks at the report. */
import { defineFlow, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const report = z.object({ service: z.string(), text: z.string().min(1), customers: z.number().int().default(1) });
const checked = report.extend({ status: z.string() });
const scored = checked.extend({ score: z.number() });

/** The last answer of the monitor for each service. */
const MONITOR: Record<string, { state: string; since: string }> = {
  "payments-api": { state: "DOWN", since: "09:14" },
  "help-center": { state: "degraded", since: "08:50" },
};

const WEIGHT: Record<string, number> = { up: 0, degraded: 40, down: 90 };

const checkService = handler({
  name: "check-service",
  inputSchema: report,
  outputSchema: checked,
  execute: (given) => ({ ...given, status: MONITOR[given.service]?.state ?? "up" }),
});

const score = handler({
  name: "score",
  inputSchema: checked,
  outputSchema: scored,
  execute: (given) => {
    const weight = WEIGHT[given.status] ?? 0;
    return { ...given, score: weight + Math.min(10, given.customers) };
  },
});

const wakeOnCall = handler({
  name: "wake-on-call",
  inputSchema: scored,
  execute: ({ service }, ctx) => {
    ctx.emit.component("page", { team: "on-call", service });
    ctx.emit.message("Our engineers are on it right now.");
  },
});

const openTicket = handler({
  name: "open-ticket",
  inputSchema: scored,
  execute: (_given, ctx) => {
    ctx.emit.message("We look at it today.");
  },
});

const sendLinks = handler({
  name: "send-links",
  inputSchema: scored,
  execute: ({ service }, ctx) => {
    ctx.emit.message(`These articles about ${service} may help you.`);
  },
});

const desk = router({
  name: "desk",
  inputSchema: scored,
  routes: [wakeOnCall, openTicket, sendLinks],
  execute: (given) => (given.score >= 80 ? wakeOnCall : given.score >= 40 ? openTicket : sendLinks),
});

const handle = sequencer({ name: "handle", inputSchema: report }).step(checkService).step(score).step(desk);

export default defineFlow({ kind: "incident-desk", actions: { report: { inputSchema: report, block: handle } } });
