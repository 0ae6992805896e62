/**
 * Finding other blocks: targets by name, siblings' outputs and results, and what was rescued.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const tally = z.object({ n: z.number().default(0), list: z.array(z.string()).default([]) });

const keeper = handler({
  name: "keeper",
  stateSchema: tally,
  execute: async (value, ctx) => {
    await ctx.self!.incState({ n: typeof value === "number" ? value : 1 });
    return `kept ${ctx.self!.state.n}`;
  },
});
const bare = handler({ name: "bare", execute: () => "bare output" });
const failing = handler({ name: "failing", stateSchema: tally, execute: async (_value, ctx) => { await ctx.self!.incState({ n: 5 }); throw new Error("it broke"); } });
const refusing = handler({ name: "refusing", execute: () => { throw new FlowError("not today", { code: "closed", details: { until: 9 } }); } });
const zero = handler({ name: "zero", execute: () => 0 });

const attempt = (look: () => unknown) => {
  try {
    return look();
  } catch (error: any) {
    return { name: error.name, code: error.code, message: error.message };
  }
};

/** Asks for a target and shows what it is; with `write` it adds 100 to it. */
const seek = (name: string, target: string, write = false) =>
  handler({
    name,
    execute: async (_value, ctx) => {
      const found: any = attempt(() => ctx.getTarget(target));
      if (found === undefined) return "undefined";
      if (write) await found.incState({ n: 100 });
      return { name: found.name, n: found.state?.n, input: found.input, path: found.instanceId?.replace(ctx.request.identity.id, "R"), ...(found.message ? { code: found.code, message: found.message.replaceAll(ctx.request.identity.id, "R") } : {}) };
    },
  });

const results = (...names: string[]) =>
  handler({
    name: "results",
    execute: (_value, ctx) => Object.fromEntries(names.map((name) => {
      const block = { name } as any;
      const result: any = ctx.getBlockResult(block);
      return [name, { output: ctx.getBlockOutput(block) ?? "undefined", status: result.status, ...(result.error ? { error: result.error.message } : {}), rescued: ctx.wasRescued(name) }];
    })),
  });

const rescued = (chain: any, block: any) => chain.tap(block.rescue([{ block: zero }]));
const failed = (chain: any, block: any) => chain.stepAny([block, zero]);

/** Adds a hundred steps, far more than a chain keeps frames of. */
const hundred = (chain: any, name: (n: number) => string, execute: (n: number) => unknown, add = rescued) => {
  let longer = chain;
  for (let n = 0; n < 100; n += 1) longer = add(longer, handler({ name: name(n), execute: () => execute(n) }));
  return longer;
};

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const stateful = (name: string) => sequencer({ name, inputSchema: z.any(), stateSchema: tally });

export default defineFlow({
  kind: "targets",
  request: { stateSchema: z.object({ seen: z.string().default("") }) },
  actions: {
    sibling: { block: chain("outer").tap(keeper).step(seek("seek", "keeper")) },
    newest: { block: chain("outer").tap(() => 3, keeper).tap(() => 7, keeper).step(seek("seek", "keeper")) },
    write: { block: chain("outer").tap(keeper).tap(seek("writer", "keeper", true)).step(seek("seek", "keeper")) },
    own: { block: chain("outer").step(seek("seek", "seek")) },
    ancestor: { block: stateful("outer").step(chain("inner").step(seek("writer", "outer", true))).map((found, ctx) => ({ found, n: ctx.sequencer.state.n })) },
    failed: { block: chain("outer").tap(failing.rescue([{ block: zero }])).step(seek("seek", "failing")) },
    finishedChain: { block: chain("outer").tap(stateful("early").tap(async (_value, ctx) => { await ctx.sequencer.incState({ n: 4 }); })).tap(seek("writer", "early", true)).step(seek("seek", "early")) },
    unknown: { block: chain("outer").step(seek("seek", "nobody")) },
    cousin: { block: chain("outer").tap(chain("early").step(keeper)).step(seek("seek", "keeper")) },
    child: { block: chain("outer").tap(keeper).map((_value, ctx) => typeof ctx.getTarget("keeper")) },
    laterSibling: { block: chain("outer").step(seek("seek", "keeper")).tap(keeper) },
    ambiguous: { block: stateful("twin").step(stateful("twin").step(chain("deep").step(seek("seek", "twin")))) },
    siblingHides: { block: stateful("twin").step(stateful("twin").tap(handler({ name: "before", execute: () => 1 })).step(chain("deep").tap(stateful("twin")).step(seek("seek", "twin")))) },
    targets: { block: chain("outer").tap(keeper).step(handler({ name: "reads", targetStateSchemas: { keeper: tally }, execute: async (_value, ctx) => { await ctx.targets.keeper!.pushState("list", "x"); return { state: ctx.targets.keeper!.state, other: typeof ctx.targets.nobody, keys: Object.keys(ctx.targets) }; } })) },
    operations: {
      block: chain("outer").tap(keeper).step(handler({ name: "operates", execute: async (_value, ctx) => {
        const target: any = ctx.getTarget("keeper");
        const changed = [await target.patchState({ n: 2 }), await target.patchState({ n: 2 }), await target.pushState("list", "a"), await target.atomicState((s: any) => ({ n: s.n * 10 })), await target.setState({ n: 20, list: ["a"] })];
        return { changed, state: target.state };
      } })),
    },
    refuses: {
      block: chain("outer").tap(bare).step(handler({ name: "tries", execute: async (_value, ctx) => {
        const target: any = ctx.getTarget("bare");
        const errors: string[] = [];
        for (const operation of ["patchState", "setState", "incState", "pushState", "setStateRecord", "deleteStateRecord", "atomicState"]) {
          await target[operation]({}, "k", 1).catch((error: Error) => errors.push(error.message));
        }
        return { state: target.state, messages: [...new Set(errors)], count: errors.length };
      } })),
    },
    concurrentWrites: { block: chain("outer").tap(keeper).tap(chain("many").forEach(() => handler({ name: "adds", execute: async (_value, ctx) => { await ctx.getTarget("keeper")?.incState({ n: 1 }); } }))).step(seek("seek", "keeper")) },
    writesFromFanOut: { block: stateful("outer").forEach(() => handler({ name: "adds", execute: async (_value, ctx) => { await ctx.getTarget("outer")?.patchState("n", (n: number) => n + 1); } })).map((_value, ctx) => ctx.sequencer.state.n) },
    results: { block: chain("outer").tap(bare).tap(failing.rescue([{ block: zero }])).step(results("bare", "failing", "results", "later", "outer")).tap(seek("later", "bare")) },
    resultError: { block: chain("outer").stepAny([refusing, handler({ name: "asks", execute: (_value, ctx) => { const { error } = ctx.getBlockResult(refusing) as any; return [error instanceof FlowError, error instanceof Error, error.name, error.code, error.details, error.message]; } })]) },
    resultsFailed: { block: chain("outer").stepAny([failing, results("failing", "bare")]) },
    resultsNewest: { block: chain("outer").step(() => 3, keeper).step(() => 4, keeper).step(results("keeper")) },
    resultsRunning: { block: chain("outer").parallel({ slow: handler({ name: "slow", execute: async () => { await pause(40); return 1; } }), quick: chain("later").step(handler({ name: "idle", execute: () => pause(10) })), look: handler({ name: "look", execute: (_value, ctx) => ctx.getBlockResult({ name: "slow" } as any).status }) }).map((all) => all.look) },
    byBlock: { block: chain("outer").tap(bare).step(handler({ name: "asks", execute: (_value, ctx) => [ctx.getBlockOutput(bare), ctx.getBlockOutput(keeper) ?? null, ctx.getBlockResult(bare), ctx.wasRescued(bare)] })) },
    afterMany: { block: hundred(chain("outer").tap(keeper), (n) => `other ${n}`, (n) => n).tap(seek("writer", "keeper", true)).step(results("keeper", "other 0", "other 99")) },
    manyOfOneName: { block: hundred(chain("outer"), () => "same", (n) => { if (n > 90) throw new Error(`broke at ${n}`); return n; }, failed).step(results("same")) },
    manyRescued: { block: hundred(chain("outer"), () => "same", (n) => { throw new Error(`broke at ${n}`); }).step(results("same")) },
    resultsRescued: {
      block: chain("outer")
        .step(chain("whole").step(refusing).rescue([{ block: zero }]))
        .step(handler({ name: "own", execute: () => { throw new Error("it broke"); }, rescue: [{ block: zero }] }))
        .tap(chain("fine").step(bare).rescue([{ block: zero }]))
        .stepAny([chain("worse").step(refusing).rescue([{ block: failing }]), zero])
        .step(results("whole", "own", "fine", "worse")),
    },
    looksBack: {
      block: hundred(
        chain("outer").tap(handler({ name: "same", execute: () => "first" })).work(handler({ name: "slow", execute: async (_value, ctx) => { await pause(60); await ctx.request.patchState({ seen: ctx.getBlockOutput({ name: "same" } as any) }); } })),
        () => "same", (n) => n,
      ).waitForWork().step(handler({ name: "reads", execute: (_value, ctx) => ({ seen: ctx.request.state.seen, now: ctx.getBlockOutput({ name: "same" } as any) }) })),
    },
    outputInMap: { block: chain("outer").step(bare).map((_value, ctx) => ctx.getBlockOutput(bare) ?? "not a sibling of the sequencer") },
  },
});
