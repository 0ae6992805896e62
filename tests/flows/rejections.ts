/**
 * What fails with nobody waiting for it: a forgotten `await` is told in the console of its block.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const fails = async (words: string) => {
  await Promise.resolve();
  throw new TypeError(words);
};

export default defineFlow({
  kind: "rejections",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    forgotten: { block: handler({ name: "forgotten", execute: () => { void fails("nobody waits"); return "done"; } }) },
    write: { block: handler({ name: "write", execute: (_input, ctx) => { void ctx.session.patchState({ n: "text" as any }); return "done"; } }) },
    later: {
      block: handler({
        name: "later",
        execute: async () => {
          const failing = fails("waited for later");
          await pause(20);
          return failing.catch((error: Error) => error.message);
        },
      }),
    },
    apart: {
      block: sequencer({ name: "apart" })
        .parallel({
          left: handler({ name: "left", execute: async () => { await pause(10); void fails("from the left"); await pause(10); } }),
          right: handler({ name: "right", execute: async () => { await pause(20); void fails("from the right"); await pause(100); } }),
        })
        .map(() => { void fails("from a map"); return "done"; }),
    },
    behind: {
      block: sequencer({ name: "behind" })
        .tap(handler({ name: "leaves", execute: async () => { void pause(30).then(() => fails("behind the block")); await pause(5); } }))
        .tap(handler({ name: "stays", execute: () => pause(60) })),
    },
  },
});
