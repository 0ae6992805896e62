/**
 * Long lists in state: however long one is, a push and a read after it cost the same, and neither may be seen: what was
 * read before a push stays as it was, and a list is checked at its new entry as it would be as a whole.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const state = z.object({
  plain: z.array(z.object({ n: z.number(), tags: z.array(z.string()) })).default([]),
  checked: z.array(z.string().min(3)).default([]),
  bounded: z.array(z.string()).max(2).default([]),
  optional: z.array(z.object({ at: z.number().int() })).optional(),
});
const body = (name: string, execute: (input: any, ctx: any) => unknown) => handler({ name, execute: async (input, ctx) => execute(input, ctx) });

/** Pushes 300 entries and looks at the list after each; answers with what did not fit. */
const grow = async (scope: any) => {
  const wrong: unknown[] = [];
  const earlier: [any, number][] = [];
  const from = scope.state.plain.length;
  for (let n = from; n < from + 300; n++) {
    if (n % 70 === 0) earlier.push([scope.state.plain, n]);
    await scope.pushState("plain", { n, tags: [`t${n}`, "x"] });
    const { plain } = scope.state;
    if (plain.length !== n + 1 || plain[n].tags[0] !== `t${n}` || plain[0].n !== 0 || plain[n >> 1].n !== n >> 1) wrong.push(n);
  }
  for (const [list, length] of earlier) if (list.length !== length || list[length] !== undefined) wrong.push({ length, now: list.length });
  const sum = scope.state.plain.reduce((total: number, entry: any) => total + entry.n, 0);
  return { wrong, length: scope.state.plain.length, sum, isArray: Array.isArray(scope.state.plain), last: scope.state.plain.at(-1) };
};

const message = async (change: () => Promise<unknown>) => {
  try {
    return await change();
  } catch (error) {
    return (error as Error).message;
  }
};

export default defineFlow({
  kind: "lists",
  session: { stateSchema: state },
  actions: {
    shared: { block: sequencer({ name: "all", inputSchema: z.any(), stateSchema: state }).step(body("grow", (_input, ctx) => grow(ctx.sequencer))).step(body("again", (_input, ctx) => grow(ctx.sequencer))) },
    durable: { block: sequencer({ name: "all", inputSchema: z.any() }).step(body("grow", (_input, ctx) => grow(ctx.session))).step(body("again", (_input, ctx) => grow(ctx.session))) },
    readOnly: {
      block: body("readOnly", async (_input, { session }) => {
        for (let n = 0; n < 100; n++) await session.pushState("plain", { n, tags: [] });
        const { plain } = session.state;
        return [await message(async () => plain.push(1)), await message(async () => (plain[3].n = 4)), plain[3].n, plain.length];
      }),
    },
    checked: {
      block: body("checked", async (_input, { session }) => {
        for (let n = 0; n < 130; n++) await session.pushState("checked", `entry ${n}`);
        const found = [
          await message(() => session.pushState("checked", "no")),
          await message(() => session.pushState("checked", 5)),
          await message(() => session.pushState("plain", { n: 1, tags: [2] })),
          await message(() => session.pushState("optional", { at: 0.5 })),
          await session.pushState("optional", { at: 1 }),
          await message(() => session.pushState("optional", { at: "2" })),
        ];
        await session.pushState("bounded", "one");
        await session.pushState("bounded", "two");
        found.push(await message(() => session.pushState("bounded", "three")));
        return [...found, session.state.checked.length, session.state.bounded, session.state.optional];
      }),
    },
    mixed: {
      block: body("mixed", async (_input, { session }) => {
        for (let n = 0; n < 70; n++) await session.pushState("plain", { n, tags: [] });
        await session.patchState("plain", (list: any[]) => list.slice(0, 66));
        await session.pushState("plain", { n: -1, tags: [] });
        const first = session.state.plain.length;
        await session.patchState({ plain: [] });
        await session.pushState("plain", { n: -2, tags: [] });
        return [first, session.state.plain];
      }),
    },
  },
});
