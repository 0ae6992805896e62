/**
 * State with the lifetime of one execution: a block's own, its parent's, and the nearest sequencer's.
 */

import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const counted = z.object({ count: z.number().default(0) });

const own = handler({
  name: "own",
  stateSchema: counted,
  execute: async (_input, ctx) => {
    const before = ctx.self!.state.count;
    await ctx.self!.incState({ count: 2 });
    return { before, after: ctx.self!.state.count };
  },
});
const stateless = handler({ name: "stateless", execute: (_input, ctx) => ({ self: typeof ctx.self, sequencer: typeof ctx.sequencer }) });

const child = handler({
  name: "child",
  execute: async (input, ctx) => {
    const parent = ctx.parent!;
    const wrote = "patchState" in parent ? await parent.incState!({ count: 1 }) : "no operations";
    return { name: parent.name, kind: parent.kind, input: parent.input, wrote, state: parent.state?.count ?? "no state" };
  },
});
const looksUp = handler({ name: "looksUp", execute: (_input, ctx) => ({ parent: ctx.parent?.name ?? "none", sequencer: ctx.sequencer ? "there" : "none" }) });
const bump = handler({ name: "bump", execute: async (value, ctx) => { await ctx.sequencer!.incState({ count: 1 }); return value; } });

const stateful = (name: string) => sequencer({ name, inputSchema: z.any(), stateSchema: counted });
const plain = (name: string) => sequencer({ name, inputSchema: z.any() });
const state = (_value: unknown, ctx: any) => ctx.sequencer.state;

const remember = handler({
  name: "remember",
  description: "Remembers a word",
  inputSchema: z.object({ word: z.string() }),
  execute: async ({ word }, ctx) => {
    const parent = ctx.parent!;
    await parent.pushState!("words", word);
    return { parent: parent.name, kind: parent.kind };
  },
});
const thinker = generator({
  name: "thinker",
  model: "tiny",
  prompt: "Collect words.",
  stateSchema: z.object({ words: z.array(z.string()).default([]) }),
  context: (_input, ctx) => `words: ${ctx.self!.state.words.join(",")}`,
  user: () => "Go on",
  tools: [remember],
});

/** Declares more fields of its sequencer's state than the sequencer does. */
const says = handler({
  name: "says",
  sequencerStateSchema: z.object({ count: z.number(), notes: z.array(z.string()).default(["first"]) }),
  execute: async (_input, ctx) => {
    await ctx.sequencer!.pushState("notes", "second");
    const refused = await ctx.sequencer!.patchState({ notes: 5 as never }).catch((error: Error) => error.message);
    return { refused, ...ctx.sequencer!.state };
  },
});

export default defineFlow({
  kind: "own-state",
  actions: {
    own: { block: plain("outer").step(own) },
    handles: { block: stateful("outer").step(handler({ name: "handles", stateSchema: counted, execute: (_input, ctx) => [ctx.self!, ctx.sequencer!].map(({ name, input, instanceId }) => ({ name, input, instance: instanceId.replace(ctx.request.identity.id, "R") })) })) },
    ownTwice: { block: plain("outer").step(own).step(own) },
    ownInFanOut: { block: plain("outer").parallel({ a: own, b: own }).map((all) => [all.a.after, all.b.after]) },
    none: { block: plain("outer").step(stateless) },
    parent: { block: stateful("outer").step(child) },
    parentWithout: { block: plain("outer").step(child) },
    parentOfRoot: { block: looksUp },
    parentIsRouter: { block: stateful("outer").step(router({ name: "chooses", routes: [looksUp], execute: () => looksUp })) },
    nearest: { block: stateful("far").step(stateful("near").step(bump).step(bump).map(state)).map((inner, ctx) => ({ inner: inner.count, outer: ctx.sequencer.state.count })) },
    throughPlain: { block: stateful("far").step(plain("between").step(bump)).map(state) },
    ownForCallbacks: { block: stateful("outer").tap(bump).stepIf((_value, ctx) => ctx.sequencer.state.count === 1, bump).exitIf((_value, ctx) => ctx.sequencer.state.count < 2).map(state) },
    fresh: { block: plain("outer").stepAll([stateful("inner").step(bump).map(state), stateful("inner").step(bump).step(bump).map(state)]) },
    inBackground: { block: stateful("outer").work(bump).forEachBackground(() => bump).waitForWork({ failOnError: true }).map(state) },
    begins: { block: sequencer({ name: "begins", inputSchema: z.any(), stateSchema: z.object({ progress: z.number().default(0), phase: z.string().default("draft") }), defaultState: { phase: "planning" } }).map((_value: any, ctx: any) => ctx.sequencer.state) },
    said: { block: stateful("outer").step(says) },
    thinks: { block: thinker },
  },
});
