/**
 * Promises that fail while nobody waits for them: they fail no block, and they are not lost.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const fails = async (words: string) => {
  await Promise.resolve();
  throw new TypeError(words);
};
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

export default defineFlow({
  kind: "rejections",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    forgotten: {
      block: sequencer({ name: "forgotten" }).parallel({
        left: handler({ name: "left", execute: async () => { void fails("left's own"); await pause(5); return 1; } }),
        right: handler({ name: "right", execute: async () => { void Promise.resolve().then(() => { throw new Error("right's own"); }); await pause(5); return 2; } }),
      }),
    },
    unawaited: { block: handler({ name: "unawaited", execute: (_input, ctx) => { void ctx.session.patchState({ n: "text" as any }); return "went on"; } }) },
    timer: { block: handler({ name: "timer", execute: async () => { setTimeout(() => { throw new Error("in a timer"); }, 1); await pause(20); return "went on"; } }) },
    handled: {
      block: handler({
        name: "handled",
        execute: async () => {
          const failing = fails("caught");
          const caught = failing.catch((error: Error) => error.message);
          return [await caught, await Promise.allSettled([fails("settled")]).then((all) => all[0]!.status)];
        },
      }),
    },
  },
});
