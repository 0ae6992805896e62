/**
 * Failing and going on: rescue of blocks and chains, retries, and what hooks see.
 */

import { defineFlow, FlowError, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

class Overload extends Error {}
class Stuck extends Overload {}

const add = (name: string, n: number) => handler({ name, execute: (value: number) => value + n });
const failing = handler({ name: "failing", execute: () => { throw new FlowError("it broke", { code: "broken", details: { part: "axle" } }); } });
const zero = handler({ name: "zero", execute: () => 0 });
const report = handler({
  name: "report",
  execute: (error: any) => ({ isError: error instanceof Error, name: error.name, message: error.message, code: error.code, details: error.details }),
});
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

/** Fails until its attempt has this number. */
const flaky = (name: string, until: number, retry?: object, rescue?: any) =>
  handler({
    name,
    retry,
    rescue,
    execute: async (_value, ctx) => {
      console.log(`attempt ${ctx.attempt}`);
      await ctx.session.incState({ tries: 1 });
      ctx.emit.message(`try ${ctx.attempt}`);
      if (ctx.attempt < until) throw new Overload("not yet");
      return { attempt: ctx.attempt, key: ctx.idempotencyKey.replace(ctx.request.identity.id, "R") };
    },
  });
const three = { maxAttempts: 3, baseDelayMs: 0 };

const hooked = (more: object = {}) =>
  handler({
    name: "hooked",
    execute: () => 1,
    onCompleted: async (output, ctx) => { await ctx.request.pushState("log", `completed ${output}`); },
    onErrored: async (error, ctx) => { await ctx.request.pushState("log", `errored ${error.message}`); },
    ...more,
  });
const log = (value: unknown, ctx: any) => ({ value, log: ctx.request.state.log });

export default defineFlow({
  kind: "rescue",
  request: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) },
  session: { stateSchema: z.object({ tries: z.number().default(0) }) },
  actions: {
    chain: { block: chain("chain").step(failing).step(add("skipped", 1)).rescue([{ block: report }]) },
    chainLater: { block: chain("chainLater").rescue([{ block: report }]).step(failing) },
    chainReplaced: { block: chain("chainReplaced").step(failing).rescue([{ block: report }]).rescue([{ block: zero }]) },
    chainFunction: { block: chain("chainFunction").map(() => { throw new Overload("a map broke"); }).rescue([{ when: [Overload], block: report }]) },
    leaf: { block: chain("leaf").step(add("before", 1)).step(failing.rescue([{ block: zero }])).step(add("after", 5)) },
    asked: {
      block: chain("asked")
        .step(failing.rescue([{ block: zero }]))
        .stepIf((_value, ctx) => !ctx.wasRescued(failing), add("skipped", 1))
        .map((value, ctx) => [value, ctx.wasRescued("failing"), ctx.wasRescued("skipped")]),
    },
    inTap: {
      block: chain("inTap")
        .step(add("before", 1))
        .tap(failing.rescue([{ block: handler({ name: "noted", execute: async (_error, ctx) => { await ctx.request.pushState("log", "rescued"); return 99; } }) }]))
        .step(add("after", 5))
        .map(log),
    },
    inParallel: { block: chain("inParallel").parallel({ good: add("good", 1), bad: failing.rescue([{ block: zero }]) }) },
    inForEach: {
      block: chain("inForEach").forEach(
        handler({ name: "half", execute: (n: number) => { if (n % 2) throw new Overload(`${n} is odd`); return n / 2; }, rescue: [{ when: [Overload], block: handler({ name: "sorry", execute: (error: Error) => error.message }) }] }),
      ),
    },
    inBranch: { block: chain("inBranch").branch({ only: [(value) => value, () => true, failing.rescue([{ block: report }])] }) },
    inRoute: { block: router({ name: "inRoute", routes: [failing.rescue([{ block: zero }])], execute: () => failing.rescue([{ block: zero }]) }) },
    first: { block: failing.rescue([{ when: [TypeError], block: add("typed", 1) }, { when: [FlowError], block: report }, { block: zero }]) },
    replaced: { block: failing.rescue([{ block: zero }]).rescue([{ block: report }]) },
    unmatched: { block: chain("unmatched").step(failing.rescue([{ when: [TypeError, Overload], block: zero }])) },
    subclass: { block: handler({ name: "stuck", execute: () => { throw new Stuck("wedged"); }, rescue: [{ when: [Overload], block: report }] }) },
    validation: { block: handler({ name: "strict", inputSchema: z.object({ n: z.number() }), execute: () => 1 }).rescue([{ block: report }]), inputSchema: z.any() },
    handlerFails: { block: chain("handlerFails").step(failing.rescue([{ block: handler({ name: "worse", execute: () => { throw new Error("the handler broke too"); } }) }, { block: zero }])) },
    outerCatches: {
      block: chain("outerCatches")
        .step(chain("inner").step(failing.rescue([{ block: handler({ name: "worse", execute: () => { throw new Error("worse"); } }) }])))
        .rescue([{ block: report }]),
    },
    sequencerState: {
      block: sequencer({ name: "holder", stateSchema: z.object({ tries: z.number().default(0) }) })
        .step(failing.rescue([{ block: handler({ name: "counts", execute: async (_error, ctx) => { await ctx.sequencer!.incState({ tries: 1 }); return ctx.sequencer!.state; } }) }])),
    },
    retryRoot: { block: flaky("flaky", 2, three) },
    retryNested: { block: chain("retryNested").step(flaky("flaky", 2, three)) },
    retryUsedUp: { block: chain("retryUsedUp").step(flaky("flaky", 9, three)) },
    retryThenRescue: { block: flaky("flaky", 9, three, [{ block: report }]) },
    retryNestedThenRescue: { block: chain("retryNestedThenRescue").parallel({ one: flaky("flaky", 9, three, [{ block: report }]) }) },
    retryOther: { block: flaky("flaky", 9, { ...three, retryableErrors: [TypeError] }, [{ block: report }]) },
    retryListed: { block: flaky("flaky", 1, { ...three, retryableErrors: [Overload] }) },
    retryForbidden: { block: handler({ name: "final", retry: three, execute: async (_v, ctx) => { await ctx.session.incState({ tries: 1 }); throw new FlowError("never again", { code: "final" }); } }) },
    retryAllowed: { block: handler({ name: "again", retry: three, execute: async (_v, ctx) => { if (ctx.attempt < 1) throw new FlowError("once more", { retryable: true }); return ctx.attempt; } }) },
    hookCompleted: { block: chain("hookCompleted").step(hooked()).map(log) },
    hookErrored: { block: chain("hookErrored").step(hooked({ execute: () => { throw new Error("no"); }, rescue: [{ block: zero }] })).map(log) },
    hookFails: {
      block: chain("hookFails").step(hooked({ onCompleted: () => { throw new Error("the hook broke"); }, rescue: [{ block: zero }] })).map(log),
    },
    hookErroredFails: { block: chain("hookErroredFails").step(hooked({ execute: () => { throw new Error("the real one"); }, onErrored: () => { throw new Error("hidden"); } })) },
  },
});
