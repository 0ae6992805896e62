/**
 * Loops whose conditions look at state that their own passes wrote.
 */

import { defineFlow, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does } from "./lib/counting";

const grow = does("grow", async (value, ctx) => {
  await ctx.sequencer.incState({ grown: 1 });
  await ctx.session.incState({ passes: 1 });
  return value + 1;
});
const turn = does("turn", async (value, ctx) => {
  await ctx.request.incState({ turns: 1 });
  ctx.emit.status(`turn ${ctx.request.state.turns}`);
  return value + 10;
});

export default defineFlow({
  kind: "loops",
  request: { stateSchema: z.object({ turns: z.number().default(0) }) },
  session: { stateSchema: z.object({ passes: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: sequencer({
        name: "loops",
        inputSchema: z.any(),
        stateSchema: z.object({ grown: z.number().default(0), shrunk: z.number().default(0) }),
      })
        .doUntil((_value, ctx) => ctx.sequencer.state.grown >= 3, grow)
        .step(turn)
        .step(does("between"))
        .loopBack("turn", { when: (_value, ctx: any) => ctx.request.state.turns < 3, maxIterations: 10 })
        .doWhile((_value, ctx) => ctx.sequencer.state.shrunk < 2, does("shrink", async (value, ctx) => {
          await ctx.sequencer.incState({ shrunk: 1 });
          return value - 1;
        }))
        .map((value: number, ctx) => ({ value, state: ctx.sequencer.state })),
    },
  },
});
