/**
 * Failures that somebody catches: a resume knows them, and does not fail all over again.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does, effect, fails, pause } from "./lib/counting";

class Overload extends Error {}

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const broken = (name: string) => fails(name, () => new FlowError(`${name} broke`, { code: name, details: { part: name } }));
const report = (name: string) =>
  does(name, async (error, ctx) => {
    await ctx.session.pushState("caught", `${error.name} ${error.code} ${error.message}`);
    return error.message;
  });

/** Its failed attempt leaves no writes. */
const flaky = handler({
  name: "flaky",
  retry: { maxAttempts: 3, baseDelayMs: 0 },
  inputSchema: z.any(),
  execute: async (value, ctx: any) => {
    await effect(ctx);
    await ctx.session.incState({ tries: 1 });
    if (ctx.attempt < 1) throw new Error("not yet");
    return `flaky after ${value}`;
  },
});

export default defineFlow({
  kind: "caught",
  session: { stateSchema: z.object({ caught: z.array(z.string()).default([]), tries: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: chain("caught")
        .step(broken("leaf").rescue([{ block: report("leaf-report") }]))
        .step(does("after-leaf"))
        .step(chain("inner").step(does("inner-begin")).step(broken("inner-broken")).step(does("never")).rescue([{ when: [FlowError], block: report("inner-report") }]))
        .stepAny([broken("any-a"), fails("any-b", () => new Overload("too much")), does("any-c", (value) => `any ${value}`)])
        .race([broken("hasty"), does("steady", async (value) => { await pause(15); return `race ${value}`; })])
        .step(flaky)
        .step(chain("typed").step(fails("overloaded", () => new Overload("again"))).rescue([{ when: [TypeError], block: does("wrong") }, { when: [Overload], block: report("typed-report") }]))
        .map((value: unknown, ctx) => ({ value, caught: (ctx.session as any).state.caught })),
    },
  },
});
