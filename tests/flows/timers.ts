/**
 * Timers that nobody waits for any more: they leave nothing behind, and a replay meets them as they were.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number, value?: unknown) => new Promise<any>((done) => { setTimeout(() => done(value), ms); });
const within = (work: Promise<any>, ms: number) => Promise.race([work, new Promise((_done, fail) => { setTimeout(() => fail(new Error("too late")), ms); })]);
const does = (name: string, execute: () => any) => ({ block: handler({ name, execute }) });
const chain = (name: string): any => sequencer({ name, inputSchema: z.any() });

export default defineFlow({
  kind: "timers",
  actions: {
    race: does("race", () => Promise.race([pause(400, "slow"), pause(5, "fast")])),
    raceThen: does("raceThen", async () => { const first = await Promise.race([pause(400, "slow"), pause(5, "fast")]); await pause(5); return first; }),
    cleared: does("cleared", async () => { const timer = setTimeout(() => {}, 50); await pause(5); clearTimeout(timer); await pause(5); return "done"; }),
    inTime: does("inTime", async () => { const answer = await within(pause(5, "ok"), 5_000); await pause(3); return answer; }),
    tooLate: does("tooLate", () => within(pause(5_000), 5)),
    counts: does("counts", () => new Promise((done) => { let n = 0; const timer = setInterval(() => { if (++n === 3) { clearInterval(timer); done(n); } }, 2); })),
    signal: does("signal", async () => { const signal = AbortSignal.timeout(5_000); await pause(2); return signal.aborted; }),
    twice: { block: chain("twice").step(handler({ name: "one", execute: () => Promise.race([pause(400, "slow"), pause(5, "one")]) })).map((value: any) => Promise.race([pause(400, "slow"), pause(5, `${value}, mapped`)])) },
    beside: { block: chain("beside").parallel({ a: handler({ name: "a", execute: () => Promise.race([pause(30, "later"), pause(500, "slow")]) }), b: handler({ name: "b", execute: () => Promise.race([pause(500, "slow"), pause(5, "sooner")]) }) }) },
    asked: { block: chain("asked").parallel({
      a: handler({ name: "a", execute: async () => { await pause(2); return "a"; } }),
      b: handler({ name: "b", execute: async (_input, ctx) => { await Promise.race([pause(400), pause(2)]); await ctx.suspend({ reason: "approval", message: "b" }); return "b"; } }),
    }) },
  },
});
