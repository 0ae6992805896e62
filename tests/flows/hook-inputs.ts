/**
 * Hooks as functions: what each is given, where it runs, and what its own failure comes to.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = async (ms: number) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); };
const keep = (name: string) => async (value: any, ctx: any) => {
  const given = value instanceof Error ? { error: value.message, code: (value as any).code } : value;
  await ctx.session.pushState("log", { [name]: given });
  if (ctx.session.state.broken.includes(name)) throw new FlowError(`${name} is broken`, { code: "broken" });
};
const doubles = handler({ name: "doubles", execute: (input: number) => input * 2 });
const failing = handler({ name: "failing", execute: () => { throw new FlowError("no", { code: "no" }); } });
const late = handler({ name: "late", execute: async (_input, ctx) => { await pause(20); await ctx.session.pushState("log", "late"); } });

export default defineFlow({
  kind: "hook-inputs",
  session: { stateSchema: z.object({ log: z.array(z.any()).default([]), broken: z.array(z.string()).default([]) }) },
  request: { onStarted: keep("started"), onCompleted: keep("completed"), onErrored: keep("errored"), onFinished: keep("finished"), onStepErrored: keep("step") },
  actions: {
    doubles: { block: doubles },
    fails: { block: failing, onErrored: keep("action") },
    stumbles: { block: sequencer({ name: "stumbles" }).work(failing).waitForWork().step(doubles) },
    works: { block: doubles, onCompleted: sequencer({ name: "tail" }).work(late) },
    breaks: { block: handler({ name: "breaks", execute: async (names: any, ctx) => { await ctx.session.patchState({ broken: names }); } }) },
  },
});
