/**
 * Background work: it must neither be lost with the sequencer that started it, nor run twice.
 */

import { defineFlow, FlowError, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does, fails, pause } from "./lib/counting";

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

const slow = (name: string, ms: number) =>
  does(name, async (value, ctx) => {
    await pause(ms);
    await ctx.request.setStateRecord("done", name, value);
    await ctx.session.incState({ jobs: 1 });
    ctx.emit.message(`${name} is done`);
    return value;
  });
const item = does("item", async (value, ctx) => { await ctx.session.incState({ items: value }); });

/** Ends long before its work does. */
const quick = chain("quick").work(slow("left-behind", 30)).step(does("quick-step", (value) => value + 1));
const job = chain("job").step(slow("job-one", 5)).step(slow("job-two", 5));

export default defineFlow({
  kind: "background",
  request: { stateSchema: z.object({ done: z.record(z.string(), z.number()).default({}) }) },
  session: { stateSchema: z.object({ jobs: z.number().default(0), items: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      block: chain("background")
        .step(quick)
        .work((value: number) => value * 10, slow("beside", 10))
        .work(fails("lost", () => new FlowError("this one fails", { code: "lost" })))
        .step(does("meanwhile"))
        .tap(chain("each").forEachBackground((value: number) => [value, value + 1, value + 2], item, { concurrency: 2 }))
        .waitForWork()
        .work(job)
        .step(does("last"))
        .map((value: number) => ({ value })),
    },
  },
});
