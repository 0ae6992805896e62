/**
 * How a flow's tools are run: defaults for all generators, hooks, time limits, retries, one at a time.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = async (ms: number) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); };
const wait = handler({ name: "wait", inputSchema: z.object({ ms: z.number() }), execute: async ({ ms }, ctx) => { await ctx.session.pushState("log", `begin ${ms}`); await pause(ms); await ctx.session.pushState("log", `end ${ms}`); return ms; } });
const flaky = handler({ name: "flaky", execute: async (_input, ctx) => { await ctx.session.incState({ tries: 1 }); throw new Error("not now"); } });
const twice = handler({ name: "twice", retry: { maxAttempts: 2 }, execute: async () => { throw new Error("never"); } });
const patient = handler({ name: "patient", timeoutMs: 0, retry: { maxAttempts: 1 }, execute: async () => { await pause(300); return "arrived"; } });
const own = generator({ name: "ownBot", model: "tiny", prompt: "Work.", tools: [twice, patient] });
const bot = (name: string) => generator({ name, model: "tiny", prompt: "Work.", tools: [wait, flaky] });

export default defineFlow({
  kind: "tools",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), tries: z.number().default(0) }) },
  tools: {
    defaults: { timeoutMs: 150, concurrency: "serial", retry: { maxAttempts: 3, baseDelayMs: 0 } },
    onToolStarted: async ({ toolName }: any, ctx: any) => { await ctx.session.pushState("log", `started ${toolName}`); },
    onToolCompleted: async ({ toolName, output }: any, ctx: any) => { await ctx.session.pushState("log", `completed ${toolName} ${output}`); },
    onToolErrored: async ({ toolName, error }: any, ctx: any) => { await ctx.session.pushState("log", `errored ${toolName} ${error.message}`); },
  },
  actions: {
    root: { block: bot("rootBot") },
    own: { block: own },
    nested: { block: sequencer({ name: "outer" }).step(bot("nestedBot")) },
  },
});
