/**
 * Several blocks for one value: parallel, stepAll, forEach, stepAny and race.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

const plus = (name: string, n: number, ms = 0) =>
  handler({
    name,
    execute: async (value: number) => {
      if (ms > 0) await pause(ms);
      return value + n;
    },
  });

const failing = (name: string, message: string, ms = 0) =>
  handler({
    name,
    execute: async () => {
      if (ms > 0) await pause(ms);
      throw new FlowError(message, { code: name });
    },
  });

/** Runs until its signal fires because another branch has won, and records what it saw. */
const listens = handler({
  name: "listens",
  execute: async (_value, ctx) => {
    const before = ctx.signal.aborted;
    await new Promise<void>((done) => ctx.signal.addEventListener("abort", () => done()));
    await ctx.request.pushState("ran", `${before} ${ctx.signal.reason.name}`);
    return "late";
  },
});

/** Ends when its race is lost, although a listener before the last one throws. */
const throwing = (name: string, listen: (signal: any) => void) =>
  handler({
    name,
    execute: async (_value, ctx) => {
      listen(ctx.signal);
      await new Promise<void>((done) => ctx.signal.addEventListener("abort", () => done()));
      await ctx.request.pushState("ran", name);
      return "late";
    },
  });

/** A chain is tried twice; the types of the framework do not know that yet. */
const twice = { retry: { maxAttempts: 2, baseDelayMs: 1 } };

/** Fails in the first try of its chain. */
const onceMore = handler({
  name: "onceMore",
  execute: async (value, ctx) => {
    if (ctx.request.state.ran.length === 1) throw new FlowError("once more", { code: "once", retryable: true });
    return value;
  },
});

/** Counts how many of its kind run at once. */
const busy = (name: string) =>
  handler({
    name,
    execute: async (value, ctx) => {
      await ctx.request.incState({ running: 1 });
      await ctx.request.patchState("most", (most) => Math.max(most, ctx.request.state.running));
      await pause(20);
      await ctx.request.incState({ running: -1 });
      return value;
    },
  });
const five = [busy("a"), busy("b"), busy("c"), busy("d"), busy("e")] as const;
const most = (value: unknown, ctx: any) => ({ value, most: ctx.request.state.most });

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

/** Answers how an aggregate error looks to who rescues it. */
const explain = handler({
  name: "explain",
  execute: (error: any) => ({ name: error.name, message: error.message, errors: (error.errors ?? []).map((one: any) => one.message) }),
});

const square = handler({ name: "square", inputSchema: z.number(), execute: (n: number) => n * n });
const cube = handler({ name: "cube", inputSchema: z.number(), execute: (n: number) => n ** 3 });

export default defineFlow({
  kind: "fanout",
  request: { stateSchema: z.object({ running: z.number().default(0), most: z.number().default(0), ran: z.array(z.string()).default([]) }) },
  session: { stateSchema: z.object({ slow: z.string().default("not yet") }) },
  actions: {
    parallel: {
      block: chain("parallel").parallel({
        left: plus("left", 1),
        right: { connector: (value: number) => value * 2, block: plus("right", 3) },
      }),
    },
    parallelOrder: { block: chain("parallelOrder").parallel({ slow: plus("slow", 1, 30), fast: plus("fast", 2) }).map((all) => Object.keys(all)) },
    parallelFails: { block: chain("parallelFails").parallel({ good: plus("good", 1), bad: failing("bad", "boom") }) },
    parallelSiblings: {
      block: chain("parallelSiblings").parallel({ bad: failing("bad", "boom", 5), slow: handler({ name: "slow", execute: async (_value, ctx) => { await pause(50); await ctx.session.patchState({ slow: "done" }); } }) }),
    },
    parallelPool: {
      block: chain("parallelPool").parallel({ a: five[0], b: five[1], c: five[2], d: five[3], e: five[4] }, { maxConcurrency: 2 }).map(most),
    },
    parallelAll: { block: chain("parallelAll").parallel({ a: five[0], b: five[1], c: five[2], d: five[3], e: five[4] }).map(most) },
    parallelSameName: { block: chain("parallelSameName").parallel({ one: plus("same", 1), two: plus("same", 2) }) },
    stepAll: {
      block: chain("stepAll").stepAll([plus("late", 1, 30), { connector: (value: number) => value * 10, block: plus("early", 2) }, plus("last", 3)]),
    },
    stepAllFails: { block: chain("stepAllFails").stepAll([plus("good", 1), failing("bad", "boom")]) },
    stepAllPool: { block: chain("stepAllPool").stepAll([...five], { maxConcurrency: 2 }).map(most) },
    stepAllEmpty: { block: chain("stepAllEmpty").thenAll([]) },
    forEach: { block: chain("forEach").forEach(square) },
    forEachConnected: { block: chain("forEachConnected").forEach((value: { list: number[] }) => value.list, square) },
    forEachFactory: { block: chain("forEachFactory").forEach((_item: number, index: number) => (index % 2 === 0 ? square : cube)) },
    forEachPool: { block: chain("forEachPool").forEach(busy("item"), { maxConcurrency: 2 }).map(most) },
    forEachFails: {
      block: chain("forEachFails").forEach(
        handler({ name: "odd", execute: (n: number) => { if (n % 2 === 0) throw new FlowError(`${n} is even`, { code: "even" }); return n; } }),
      ),
    },
    stepAny: {
      block: chain("stepAny").stepAny([failing("first", "no"), plus("second", 1), handler({ name: "third", execute: async (_v, ctx) => { await ctx.request.pushState("ran", "third"); } })]).map((value, ctx) => ({ value, ran: ctx.request.state.ran })),
    },
    stepAnyFails: { block: chain("stepAnyFails").thenAny([failing("a", "no a"), failing("b", "no b")]) },
    stepAnyExplained: { block: chain("stepAnyExplained").stepAny([failing("a", "no a"), failing("b", "no b")]).rescue([{ block: explain }]) },
    stepAnyEmpty: { block: chain("stepAnyEmpty").stepAny([]) },
    race: { block: chain("race").race([plus("slow", 100, 60), plus("fast", 1)]) },
    raceFailureFirst: { block: chain("raceFailureFirst").race([failing("hasty", "too early"), plus("steady", 1, 30)]) },
    raceFails: { block: chain("raceFails").race([failing("a", "no a"), failing("b", "no b", 10)]) },
    raceExplained: { block: chain("raceExplained").race([failing("a", "no a", 10), failing("b", "no b")]).rescue([{ block: explain }]) },
    raceSignal: {
      block: chain("raceSignal")
        .race([plus("fast", 1, 5), chain("around").step(listens)])
        .map((value, ctx) => ({ value, ran: ctx.request.state.ran, mine: ctx.signal.aborted })),
    },
    raceAgain: {
      block: chain("raceAgain").step(
        sequencer({ name: "tried", inputSchema: z.any(), ...twice })
          .race([plus("fast", 1, 5), chain("around").step(listens)])
          .step(onceMore)
          .map((value, ctx) => ({ value, ran: ctx.request.state.ran })),
      ),
    },
    raceThrows: {
      block: chain("raceThrows")
        .race([
          plus("fast", 1, 5),
          throwing("onabort", (signal) => { signal.onabort = () => { throw new Error("no"); }; }),
          throwing("listener", (signal) => signal.addEventListener("abort", () => { throw Object.create(null); })),
          throwing("replaced", (signal) => { signal.onabort = () => { throw new Error("never"); }; signal.onabort = null; }),
        ])
        .map((value, ctx) => ({ value, ran: [...ctx.request.state.ran].sort() })),
    },
    raceNested: {
      block: chain("raceNested")
        .race([plus("fast", 1, 5), chain("around").race([listens, chain("deep").step(listens)])])
        .map((value, ctx) => ({ value, ran: ctx.request.state.ran, mine: ctx.signal.aborted })),
    },
    raceLate: {
      block: chain("raceLate")
        .race([
          plus("fast", 1, 5),
          handler({ name: "late", execute: async (value, ctx) => { await pause(40); await ctx.request.pushState("ran", `${ctx.signal.aborted} ${ctx.signal.reason.name}`); return value; } }),
        ])
        .map((value, ctx) => ({ value, ran: ctx.request.state.ran })),
    },
    raceEmpty: { block: chain("raceEmpty").race([]) },
    raceOne: { block: chain("raceOne").race([plus("only", 1)]) },
    raceOneFails: { block: chain("raceOneFails").race([failing("only", "just this")]) },
    racePool: { block: chain("racePool").race([...five], { maxConcurrency: 2 }).map(most) },
    raceSettles: {
      block: chain("raceSettles")
        .race([plus("fast", 1), handler({ name: "slow", execute: async (_v, ctx) => { await pause(40); await ctx.request.pushState("ran", "slow"); return "late"; } })])
        .map((value, ctx) => ({ value, ran: ctx.request.state.ran })),
    },
  },
});
