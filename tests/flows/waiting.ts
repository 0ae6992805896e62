/**
 * Waiting for something to happen: a condition on the request's items.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = async (ms: number) => { await new Promise<void>((done) => { setTimeout(() => done(), ms); }); };
const shows = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => { await pause(ms); ctx.emit.component("ready", { name }); } });
const isReady = (items: readonly any[]) => items.some((item) => item.type === "component");
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const isWritten = (items: readonly any[]) => items.some((item) => item.type === "state_change");
const counted = (name: string) => sequencer({ name, inputSchema: z.any(), stateSchema: z.object({ n: z.number().default(0) }) });
/** A write and then a pause: the wait must not need the block's end, unless the write does. */
const writes = (name: string, scope: "sequencer" | "session") => handler({ name, execute: async (_input, ctx: any) => { await pause(20); await ctx[scope].incState({ n: 1 }); await pause(20); } });

export default defineFlow({
  kind: "waiting",
  actions: {
    already: { block: chain("already").tap(shows("shows", 0)).waitForCondition(isReady, { timeoutMs: 1000 }) },
    later: { block: chain("later").work(shows("shows", 30)).waitForCondition(isReady, { timeoutMs: 5000 }) },
    never: { block: chain("never").waitForCondition(isReady, { timeoutMs: 30 }) },
    throws: { block: chain("throws").waitForCondition(() => { throw new Error("cannot tell"); }, { timeoutMs: 1000 }) },
    admitted: { block: chain("admitted").work(shows("shows", 20)).waitForCondition(isReady, { timeoutMs: 5000, wakeOn: (item: any, kind) => item.type === "component" && kind === "done" }) },
    filterThrows: { block: chain("filterThrows").work(shows("shows", 20)).waitForCondition(isReady, { timeoutMs: 5000, wakeOn: () => { throw new Error("no filter"); } }) },
    tells: { block: chain("tells").step(shows("shows", 0)).map((_value, ctx) => ({ count: ctx.response.getItemCount(), types: ctx.response.getItems().map((item) => item.type) })) },
    refused: { block: handler({ name: "refused", execute: (options: any) => {
      const build: any = sequencer({ name: "made" });
      try { build.waitForCondition(isReady, options); return "taken"; } catch (error: any) { return error.message; }
    } }) },
    ofState: { block: counted("ofState").work(writes("counts", "sequencer")).waitForCondition(isWritten, { timeoutMs: 5000 }) },
    ofRecord: { block: chain("ofRecord").work(writes("commits", "session")).waitForCondition(isWritten, { timeoutMs: 5000, wakeOn: (item: any, kind) => item.type === "state_change" && kind === "done" }) },
    filtered: { block: chain("filtered").work(shows("shows", 20)).waitForCondition(isReady, { timeoutMs: 200, wakeOn: (item: any) => item.type === "message" }) },
  },
});
