/**
 * Side effects that somebody outside counts: what a crash must not repeat, and a resume must not lose.
 */

import { handler } from "@flow-state-dev/core";
import { z } from "zod";

/** The counting server; a test puts its port where the zero is. */
const AT = "http://127.0.0.1:0";
/** How long a block takes; a test that kills at random instants makes it longer. */
const PAUSE_MS = 0;

export const pause = (ms: number) => new Promise<void>((done) => { setTimeout(() => done(), ms); });

/** One side effect of a block, told to the server by `<request>:<path>`. */
export const effect = async (ctx: { idempotencyKey: string }) => {
  if (PAUSE_MS > 0) await pause(PAUSE_MS);
  const reply = await fetch(AT, { method: "POST", body: ctx.idempotencyKey });
  if (!reply.ok) throw new Error(`the counting server answered ${reply.status}`);
};

/** A handler with one side effect. */
export const does = (name: string, execute: (value: any, ctx: any) => any = (value) => value) =>
  handler({
    name,
    inputSchema: z.any(),
    execute: async (value: any, ctx: any) => {
      await effect(ctx);
      return execute(value, ctx);
    },
  });

/** A handler with one side effect that then fails. */
export const fails = (name: string, error: () => Error) =>
  does(name, () => { throw error(); });
