/**
 * Loops: until and while, back to an earlier step, and what keeps them from running for ever.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const inc = handler({ name: "inc", inputSchema: z.number(), execute: (value: number) => value + 1 });
const dec = handler({ name: "dec", inputSchema: z.number(), execute: (value: number) => value - 1 });
const count = (name: string, field: string) =>
  handler({
    name,
    sequencerStateSchema: z.object({ [field]: z.number() }),
    execute: async (value, ctx) => {
      await ctx.sequencer!.incState({ [field]: 1 });
      return value;
    },
  });

const after = handler({ name: "after", execute: (value: number) => value });

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const counting = (name: string) =>
  sequencer({ name, inputSchema: z.any(), stateSchema: z.object({ outer: z.number().default(0), inner: z.number().default(0) }) });

/** Its own state begins anew in every pass, because every pass is an instance of its own. */
const own = handler({
  name: "own",
  stateSchema: z.object({ passes: z.number().default(0) }),
  execute: async (_value, ctx) => {
    await ctx.self!.incState({ passes: 1 });
    await ctx.sequencer!.incState({ passes: 1 });
    await ctx.sequencer!.pushState("seen", ctx.self!.state.passes);
  },
});

export default defineFlow({
  kind: "loops",
  actions: {
    until: { block: chain("until").doUntil((value) => value >= 3, inc) },
    while: { block: chain("while").doWhile((value) => value < 3, inc) },
    untilConnected: { block: chain("untilConnected").doUntil((value) => value >= 20, (value: { start: number }) => value.start * 10, inc) },
    whileConnected: { block: chain("whileConnected").doWhile((value) => value > 0, (text: string) => text.length, dec) },
    untilForever: { block: chain("untilForever").doUntil(() => false, inc) },
    whileForever: { block: chain("whileForever").doWhile(async () => true, inc) },
    untilAtTheGuard: { block: chain("untilAtTheGuard").doUntil((value) => value >= 251, inc) },
    back: { block: chain("back").step(inc).loopBack("inc", { when: (value) => value < 3, maxIterations: 10 }) },
    backAlways: { block: chain("backAlways").step(inc).loopBack("inc", { maxIterations: 4 }).step((value) => -value, inc) },
    backToMap: { block: chain("backToMap").map((value) => value * 2).step(inc).loopBack("map", { maxIterations: 2 }) },
    backToIf: {
      block: chain("backToIf").stepIf((value) => value % 2 === 0, inc).map((value) => value + 1).loopBack("if:inc", { maxIterations: 2 }),
    },
    backToFirst: {
      block: chain("backToFirst").step(inc).map((value) => value * 10).step(inc).loopBack("inc", { maxIterations: 1 }),
    },
    backToNowhere: { block: chain("backToNowhere").step(inc).loopBack("missing", { maxIterations: 1 }) },
    nested: {
      block: counting("nested")
        .step(count("outer", "outer"))
        .step(count("inner", "inner"))
        .loopBack("inner", { maxIterations: 2 })
        .loopBack("outer", { maxIterations: 2 })
        .map((_value, ctx) => ctx.sequencer.state),
    },
    sideBySide: { block: chain("sideBySide").step(inc).loopBack("inc", { maxIterations: 1 }).loopBack("inc", { maxIterations: 1 }) },
    around: {
      block: chain("around").step(inc).step(dec).loopBack("dec", { maxIterations: 1 }).step(after).loopBack("inc", { maxIterations: 1 }),
    },
    connected: { block: chain("connected").map((value: number) => value + 1).loopBack("map", { maxIterations: 1 }).connectInput((value: number) => value * 10) },
    nestedChains: {
      block: counting("nestedChains")
        .step(count("outer", "outer"))
        .step(chain("within").step(count("inner", "inner")).loopBack("inner", { maxIterations: 2 }))
        .loopBack("outer", { maxIterations: 1 })
        .map((_value, ctx) => ctx.sequencer.state),
    },
    ownState: {
      block: sequencer({
        name: "ownState",
        stateSchema: z.object({ passes: z.number().default(0), seen: z.array(z.number()).default([]) }),
      })
        .tap(own)
        .loopBack("tap", { maxIterations: 2 })
        .map((_value, ctx) => ctx.sequencer.state),
    },
    ownStateUntil: {
      block: sequencer({
        name: "ownStateUntil",
        stateSchema: z.object({ passes: z.number().default(0), seen: z.array(z.number()).default([]) }),
      })
        .doUntil((_value, ctx) => ctx.sequencer.state.passes >= 3, own)
        .map((_value, ctx) => ctx.sequencer.state),
    },
    exitInLoop: {
      block: chain("exitInLoop").step(inc).exitIf((value) => value >= 2).loopBack("inc", { maxIterations: 10 }).step((value) => value + 100, inc),
    },
  },
});
