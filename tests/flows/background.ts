/**
 * Work beside the chain: started, not awaited, awaited on request, and drained before the request ends.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

const done = (name: string, ms = 20) =>
  handler({
    name,
    execute: async (value, ctx) => {
      await pause(ms);
      await ctx.request.pushState("done", `${name} ${JSON.stringify(value)}`);
      await ctx.session.pushState("done", name);
      return "nobody reads this";
    },
  });
const failing = (name: string, ms = 0) =>
  handler({
    name,
    execute: async () => {
      await pause(ms);
      throw new FlowError(`${name} failed`, { code: name, details: { name } });
    },
  });

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const look = (value: unknown, ctx: any) => ({ value, done: ctx.request.state.done });
const report = handler({ name: "report", execute: (error: Error) => ({ rescued: error.message }) });

const item = handler({
  name: "item",
  execute: async (n: number, ctx) => {
    await ctx.request.incState({ running: 1 });
    await ctx.request.patchState("most", (most) => Math.max(most, ctx.request.state.running));
    await pause(10);
    await ctx.request.incState({ running: -1 });
    if (n < 0) throw new Error(`${n} is below zero`);
    await ctx.request.pushState("done", `item ${n}`);
  },
});
const double = handler({ name: "double", execute: async (n: number, ctx) => { await ctx.request.pushState("done", `double ${n * 2}`); } });

export default defineFlow({
  kind: "background",
  request: {
    stateSchema: z.object({ done: z.array(z.string()).default([]), running: z.number().default(0), most: z.number().default(0) }),
  },
  session: { stateSchema: z.object({ done: z.array(z.string()).default([]) }) },
  actions: {
    work: { block: chain("work").work(done("slow")).map(look) },
    awaited: { block: chain("awaited").work(done("slow")).waitForWork().map(look) },
    connected: { block: chain("connected").work((value: number) => value * 2, done("slow")).waitForWork().map(look) },
    connectorFails: { block: chain("connectorFails").work(() => { throw new Error("a connector runs in the chain"); }, done("never")) },
    named: { block: chain("named").sideChain(done("slow"), { name: "indexing" }).loopBack("indexing", { maxIterations: 1 }).waitForSideChain().map(look) },
    workIf: {
      block: chain("workIf")
        .workIf((value) => value > 1, done("over"))
        .workIf(false, () => { throw new Error("not called"); }, done("never"))
        .sideChainIf(true, (value: number) => [value], done("listed"))
        .waitForWork()
        .map((value, ctx) => [...ctx.request.state.done].sort()),
    },
    exitWithWork: { block: chain("exitWithWork").work(done("slow")).exitIf(() => true).step(done("never")) },
    fails: { block: chain("fails").work(failing("task")).step(done("next")) },
    failsQuietly: { block: chain("failsQuietly").workIf(() => true, failing("task")).waitForWork().map(look) },
    failsLoudly: { block: chain("failsLoudly").work(failing("task")).waitForWork({ failOnError: true }) },
    failsLast: { block: chain("failsLast").work(failing("older", 30)).work(failing("newer", 5)).waitForWork({ failOnError: true }) },
    failsRescued: { block: chain("failsRescued").work(failing("task")).waitForWork({ failOnError: true }).rescue([{ block: report }]) },
    timeout: { block: chain("timeout").work(done("slow", 300)).waitForWork({ timeoutMs: 15 }) },
    inTime: { block: chain("inTime").work(done("slow", 10)).waitForWork({ timeoutMs: 5000 }).map(look) },
    ownOnly: {
      block: chain("ownOnly").work(done("outer", 60)).step(chain("inner").work(done("inner", 5)).waitForWork()).map(look),
    },
    each: { block: chain("each").forEachBackground(item).waitForWork({ failOnError: true }).map((value, ctx) => ({ value, done: [...ctx.request.state.done].sort() })) },
    eachConnected: { block: chain("eachConnected").forEachBackground((value: { list: number[] }) => value.list, item).waitForWork().map(look) },
    eachPool: { block: chain("eachPool").forEachBackground(item, { concurrency: 2 }).waitForWork().map((_value, ctx) => ctx.request.state.most) },
    eachFactory: { block: chain("eachFactory").forEachSideChain((_n: number, index: number) => (index === 1 ? double : item)).waitForWork().map((_value, ctx) => [...ctx.request.state.done].sort()) },
    eachFails: { block: chain("eachFails").forEachBackground(item).waitForWork().map((value, ctx) => ({ value, done: [...ctx.request.state.done].sort() })) },
    eachFailsLoudly: { block: chain("eachFailsLoudly").forEachBackground(item).waitForWork({ failOnError: true }) },
    eachOfNothing: { block: chain("eachOfNothing").forEachBackground(item) },
    nested: { block: chain("nested").work(chain("job").step(done("one", 5)).step(done("two", 5))).map(() => "at once") },
  },
});
