/**
 * Writing state: what counts as a change, what is announced, what meets at a commit, and transient slots.
 * The seven operations themselves, in every scope, are under test elsewhere.
 */

import { defineFlow, handler, sequencer, transientSlot } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const fields = z.object({
  n: z.number().default(0),
  m: z.number().default(0),
  list: z.array(z.string()).default([]),
  map: z.record(z.any()).default({}),
});
const body = (name: string, execute: (input: any, ctx: any) => unknown) => handler({ name, execute: async (input, ctx) => execute(input, ctx) });

const slots = z.object({
  count: z.number().default(0),
  secret: transientSlot(z.string().default("unset")),
  marks: transientSlot(z.array(z.string()).default([])),
});
const hidden = (name: string) => sequencer({ name, inputSchema: z.any(), stateSchema: slots });

/** How often a value that is none of its kind was refused, and stayed, in one scope. */
async function unfit(handle: any) {
  let refused = 0;
  for (const [method, value] of [["inc", "abc"], ["inc", true], ["inc", [1]], ["inc", { a: 1 }], ["push", "abc"], ["push", 3], ["push", false], ["push", { a: 1 }]] as const) {
    await handle.patchState({ u: value, counted: 0 });
    try {
      await (method === "inc" ? handle.incState({ counted: 1, u: 1 }) : handle.pushState("u", 1));
    } catch (error: any) {
      if (error.name === "ValidationError" && JSON.stringify(handle.state.u) === JSON.stringify(value) && handle.state.counted === 0) refused += 1;
    }
  }
  return refused;
}

/** A handle that one block leaves to the next, as packages do that look a store up once. */
let kept: any;

export default defineFlow({
  kind: "writes",
  request: { stateSchema: fields },
  session: { stateSchema: fields },
  user: { stateSchema: fields.extend({ owner: z.string().optional() }) },
  actions: {
    kept: {
      block: sequencer({ name: "keeping", inputSchema: z.any(), stateSchema: z.object({ c: z.number().default(2) }) })
        .step(body("keeps", (_input, ctx) => { kept = { request: ctx.request, session: ctx.session, emit: ctx.emit, around: ctx.sequencer }; return ctx.request.state.n; }))
        .step(body("uses", async (_input, ctx) => {
          await kept.request.incState({ n: 1 });
          await kept.session.patchState({ n: 5 });
          await kept.around.incState({ c: 1 });
          kept.emit.message("by the second");
          return [kept.request.state.n, kept.session.state.n, ctx.request.state.n, kept.around.state.c, ctx.sequencer.state.c];
        })),
    },
    noop: {
      block: body("noop", async (_input, { session }) => [
        await session.patchState({ n: 0 }),
        await session.patchState({ map: {} }),
        await session.patchState("n"),
        await session.setState({ n: 0, m: 0, list: [], map: {} }),
        await session.incState({ n: 0 }),
        await session.deleteStateRecord("map", "none"),
        await session.atomicState(() => ({ list: [] })),
      ]),
    },
    changes: {
      block: body("changes", async (_input, { session }) => {
        await session.patchState({ n: 1, m: 2 });
        await session.patchState("n", (n: number) => n + 1);
        await session.incState({ n: 3, m: 1 });
        await session.pushState("list", "a");
        await session.setStateRecord("map", "k", { deep: true });
        await session.deleteStateRecord("map", "k");
        await session.atomicState((now: any) => ({ n: now.n * 2 }));
        await session.setState({ n: 1, m: 1, list: [], map: {} });
      }),
    },
    everyScope: {
      block: sequencer({ name: "outer", stateSchema: fields }).step(
        body("writes", async (_input, ctx) => {
          for (const scope of [ctx.request, ctx.session, ctx.user, ctx.project, ctx.sequencer]) await scope.incState({ n: 1 });
        }),
      ),
    },
    visibleAtOnce: {
      block: sequencer({ name: "outer" })
        .step(body("first", async (_input, ctx) => { await ctx.session.incState({ n: 1 }); return ctx.session.state.n; }))
        .step(body("second", async (seen, ctx) => [seen, ctx.session.state.n])),
    },
    fromFanOut: { block: sequencer({ name: "outer", inputSchema: z.any() }).forEach(body("adds", async (item, ctx) => { await ctx.user.incState({ n: 1 }); await ctx.user.pushState("list", item); })).map((_all, ctx) => ({ n: ctx.user.state.n, list: [...ctx.user.state.list].sort() })) },
    updaterFanOut: { block: sequencer({ name: "outer", inputSchema: z.any() }).forEach(body("doubles", async (_item, ctx) => { await ctx.user.patchState("n", (n: number) => n + 1); })).map((_all, ctx) => ctx.user.state.n) },
    atomicFanOut: { block: sequencer({ name: "outer", inputSchema: z.any() }).forEach(body("swaps", async (_item, ctx) => { await ctx.user.atomicState((now: any) => ({ n: now.n + 1, m: now.m - 1 })); })).map((_all, ctx) => [ctx.user.state.n, ctx.user.state.m]) },
    /** Two branches read the same value and only then write: the later one has to notice. */
    readThenWrite: {
      block: sequencer({ name: "outer" })
        .parallel({
          a: body("a", async (_input, ctx) => { const n = ctx.user.state.n; await pause(20); await ctx.user.patchState("n", (now: number) => now + 10); return n; }),
          b: body("b", async (_input, ctx) => { const n = ctx.user.state.n; await pause(20); await ctx.user.patchState("n", (now: number) => now + 1); return n; }),
        })
        .map((_all, ctx) => ctx.user.state.n),
    },
    /** The same with whole states: what the loser made of the old value is not what it would make of the new one. */
    readThenSet: {
      block: sequencer({ name: "outer" })
        .parallel({
          a: body("a", async (_input, ctx) => { const now = ctx.user.state; await pause(20); await ctx.user.setState({ ...now, n: now.n + 10 }); return ctx.user.state.n; }),
          b: body("b", async (_input, ctx) => { const now = ctx.user.state; await pause(40); await ctx.user.setState({ ...now, n: now.n + 1 }); return ctx.user.state.n; }),
        })
        .map((all, ctx) => ({ ...all, n: ctx.user.state.n })),
    },
    withdrawn: {
      block: sequencer({ name: "outer" })
        .parallel({
          a: body("a", async (_input, ctx) => { await ctx.user.patchState({ n: 5 }); await pause(20); ctx.emit.message("a said it once"); }),
          b: body("b", async (_input, ctx) => { const now = ctx.user.state; await pause(60); ctx.emit.message(`b saw ${now.n}`); await ctx.user.setState({ ...now, m: now.n + 1 }); }),
        })
        .map((_all, ctx) => [ctx.user.state.n, ctx.user.state.m]),
    },
    recordsFanOut: { block: sequencer({ name: "outer", inputSchema: z.any() }).forEach(body("sets", async (item, ctx) => { await ctx.user.setStateRecord("map", item, item.length); })).map((_all, ctx) => ctx.user.state.map) },
    updaterThrows: {
      block: body("throws", async (_input, ctx) => {
        const message = await ctx.session.patchState("n", () => { throw new Error("no value"); }).catch((error: Error) => error.message);
        await ctx.session.incState({ n: 1 });
        return { message, n: ctx.session.state.n };
      }),
    },
    values: {
      block: body("values", async (_input, ctx) => {
        await ctx.session.setStateRecord("map", "date", new Date(0));
        await ctx.session.setStateRecord("map", "gone", { kept: 1, gone: undefined });
        const refused: string[] = [];
        for (const [name, value] of [["nan", NaN], ["fn", () => 1]] as const) {
          await ctx.session.setStateRecord("map", name, { inner: value }).catch((error: Error) => refused.push(`${error.name} ${error.message.includes("inner")}`));
        }
        return { map: ctx.session.state.map, refused };
      }),
    },
    patchIsShallow: { block: body("shallow", async (_input, ctx) => { await ctx.session.patchState({ map: { a: 1 } }); await ctx.session.patchState({ map: { b: 2 } }); return ctx.session.state.map; }) },
    slot: {
      block: hidden("slot")
        .tap(body("writes", async (_input, ctx) => {
          const changed = await ctx.sequencer.patchState({ secret: "swordfish" });
          await ctx.sequencer.pushState("marks", "swordfish");
          await ctx.request.patchState({ list: [String(changed)] });
        }))
        .step(body("reads", (_input, ctx) => ({ long: ctx.sequencer.state.secret.length, marks: ctx.sequencer.state.marks.length, changed: ctx.request.state.list }))),
    },
    unfit: {
      block: sequencer({ name: "around", inputSchema: z.any(), stateSchema: z.object({}).passthrough() })
        .step(handler({ name: "unfit", stateSchema: z.object({}).passthrough(), execute: async (_input: any, ctx: any) => {
          const found: Record<string, unknown> = {};
          const handles = { request: ctx.request, session: ctx.session, user: ctx.user, org: ctx.org, sequencer: ctx.sequencer, self: ctx.self, target: ctx.getTarget("around") };
          for (const [scope, handle] of Object.entries(handles)) found[scope] = await unfit(handle);
          return found;
        } })),
    },
    unfitText: { block: body("text", async (_input, { session }) => { await session.patchState({ s: "abc" }); await session.incState({ s: 1 }); }) },
    unfitList: { block: body("text", async (_input, { session }) => { await session.patchState({ s: "abc" }); await session.pushState("s", 1); }) },
    overflow: { block: body("overflows", async (_input, { session }) => { await session.patchState({ n: 1e308 }); await session.incState({ m: 1, n: 1e308 }); }) },
    empty: { block: body("empty", async (_input, { session }) => [
      await session.patchState({ s: null, l: null }), await session.incState({ s: 2 }), await session.pushState("l", 1),
      await session.incState({ absent: 3 }), await session.pushState("none", 4), session.state.s, session.state.l, session.state.absent, session.state.none,
    ]) },
    slotMixed: { block: hidden("slotMixed").tap(body("writes", async (_input, ctx) => { await ctx.sequencer.patchState({ count: 7, secret: "swordfish" }); })).map((_value, ctx) => [ctx.sequencer.state.count, ctx.sequencer.state.secret.length]) },
    slotAtomic: {
      block: hidden("slotAtomic").tap(body("writes", async (_input, ctx) => {
        await ctx.sequencer.atomicState(() => ({ secret: "swordfish" }));
        await ctx.sequencer.atomicState((now: any) => ({ count: now.count + 1, secret: "swordfish" }));
        await ctx.sequencer.setState({ count: 2, secret: "swordfish", marks: [] });
      })).map((_value, ctx) => ctx.sequencer.state.count),
    },
    slotResets: {
      block: sequencer({ name: "outer" })
        .step(hidden("inner").tap(body("writes", async (_input, ctx) => { await ctx.sequencer.patchState({ secret: "swordfish" }); })).map(() => 1))
        .step(hidden("inner").map((_value, ctx) => ctx.sequencer.state.secret)),
    },
  },
});
