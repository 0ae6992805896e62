/**
 * Hooks of an action and of every request: blocks that run around the root block.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = async (ms: number) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); };
const notes = (name: string) => handler({ name, execute: async (_input, ctx) => { await ctx.session.pushState("log", name); } });
const root = handler({ name: "root", execute: async (input, ctx) => { await ctx.session.pushState("log", "root"); return input; } });
const failing = handler({ name: "failing", execute: async (_input, ctx) => { await ctx.session.pushState("log", "failing"); throw new FlowError("no", { code: "no" }); } });
const late = handler({ name: "late", execute: async (_input, ctx) => { await pause(20); await ctx.session.pushState("log", "late"); } });
const read = handler({ name: "read", execute: (_input, ctx) => ctx.session.state.log });

export default defineFlow({
  kind: "hooks",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  request: {
    onStarted: notes("request started"),
    onCompleted: notes("request completed"),
    onErrored: notes("request errored"),
    onFinished: notes("request finished"),
    onStepErrored: notes("step errored"),
  },
  actions: {
    completes: { block: root, onCompleted: notes("action completed"), onErrored: notes("action errored"), userMessage: () => "please" },
    fails: { block: failing, onCompleted: notes("action completed"), onErrored: notes("action errored") },
    drains: { block: sequencer({ name: "drains" }).step(root).work(late), onCompleted: notes("action completed") },
    stumbles: { block: sequencer({ name: "stumbles" }).work(handler({ name: "trips", execute: () => { throw new Error("trip"); } })).waitForWork().step(root) },
    rescued: { block: sequencer({ name: "rescued" }).step(failing).rescue([{ block: root }]) },
    hookFails: { block: root, onCompleted: failing },
    read: { block: read },
  },
});
