/**
 * What a flow decided before it waited stays decided: conditions, selectors, maps and lists that looked
 * at a session are not asked again when the request goes on, whoever wrote to the session meanwhile.
 */

import { defineFlow, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const chain = (name: string): any => sequencer({ name, inputSchema: z.any() });
const notes = (name: string) => handler({ name, execute: async (_input, ctx) => { await ctx.session.pushState("log", name); return name; } });
/** Asks, and changes what was decided by: the request itself may be the one who writes. */
const asks = (name: string) => handler({ name, execute: async (_input, ctx) => {
  await ctx.suspend({ reason: "approval", message: name });
  await ctx.session.patchState({ mode: "right", list: [] });
  return name;
} });
const same = (value: unknown) => value;
const isLeft = (_value: unknown, ctx: any) => ctx.session.state.mode === "left";
const [left, right] = ["left", "right"].map((name) => chain(name).step(notes(`${name} begins`)).step(asks(name)).step(notes(`${name} ends`)));
const item = handler({ name: "item", execute: async (input: any, ctx) => {
  if (input === 2) await ctx.suspend({ reason: "approval", message: "two" });
  await ctx.session.pushState("log", `item ${input}`);
  return input;
} });

export default defineFlow({
  kind: "decisions",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), mode: z.string().default("left"), list: z.array(z.number()).default([1, 2]) }) },
  actions: {
    set: { block: handler({ name: "set", execute: async (input: any, ctx) => { await ctx.session.patchState(input); } }) },
    route: { block: chain("route").step(router({ name: "way", routes: [left, right], execute: (_input, ctx) => (isLeft(null, ctx) ? left : right) })).step(notes("end")) },
    says: { block: chain("says").step(router({ name: "way", routes: [left, right], execute: (_input, ctx) => { ctx.emit.message("choosing"); return isLeft(null, ctx) ? left : right; } })).step(notes("end")) },
    branch: { block: chain("branch").branch({ left: [same, isLeft, left], right: [same, () => true, right] }).step(notes("end")) },
    condition: { block: chain("condition").stepIf(isLeft, left).stepIf(isLeft, right).step(notes("end")) },
    list: { block: chain("list").forEach((_value: unknown, ctx: any) => ctx.session.state.list, item, { maxConcurrency: 1 }) },
    mapped: { block: chain("mapped").map((_value: unknown, ctx: any) => ctx.session.state.list).forEach(item, { maxConcurrency: 1 }) },
    input: { block: chain("input").map((_value: unknown, ctx: any) => ctx.session.state.mode).step(asks("asked")).map((_value: unknown, ctx: any) => ctx.session.state.mode) },
    loop: { block: chain("loop").map(() => 0).doUntil((value: any, ctx: any) => value >= 2 || !isLeft(null, ctx), handler({ name: "pass", execute: async (input: any, ctx) => {
      if (input === 1) await ctx.suspend({ reason: "approval", message: "pass" });
      return input + 1;
    } })) },
    items: { block: chain("items").stepIf((_value: unknown, ctx: any) => ctx.session.items.all().length === 0, chain("first").step(notes("said")).tap((_value: unknown, ctx: any) => ctx.emit.message("hello")).step(asks("asked"))).step(notes("end")) },
  },
});
