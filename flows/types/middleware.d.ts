/**
 * Middleware: functions that run around blocks, of a flow or of one block.
 */

import type { BlockContext } from "./context.js";
import type { MaybePromise } from "./schema.js";

/** What runs inside, by its name and kind. */
export interface MiddlewareBlock {
  readonly name: string;
  readonly kind: "handler" | "sequencer" | "router" | "generator";
}

/** `ctx` of the block inside, with what it is and what it was called with. */
export type MiddlewareContext = BlockContext & { readonly block: MiddlewareBlock; readonly input: any };

/**
 * Goes on by `next()`, once, and gives the block's output; without it the block does not run. What the block throws,
 * `next()` throws.
 */
export type MiddlewareFn = (ctx: MiddlewareContext, next: () => Promise<any>) => MaybePromise<unknown>;

export interface Middleware {
  name: string;
  execute: MiddlewareFn;
  /** Which blocks it runs around; all of them without it. Asked once, when the file loads. */
  filter?: (block: MiddlewareBlock) => boolean;
}
