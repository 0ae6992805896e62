/**
 * The arguments of `parallel`, `stepAll` and `branch`, which describe several blocks at once.
 */

import type { Block, BlockOutput } from "./blocks.js";
import type { MaybePromise } from "./schema.js";

export interface FanOutOptions {
  /** Unlimited unless you say otherwise. */
  maxConcurrency?: number;
}

/** A block, or a block behind a connector that makes its input from the value of the chain. */
export type FanOutBranch<V, Ctx> =
  Block<V, any> | { connector: (value: V, ctx: Ctx) => unknown; block: Block<any, any> };

export type BranchOutput<P> = P extends { connector: any; block: infer B } ? BlockOutput<B> : BlockOutput<P>;

/** `X` collects the input of each arm and `O` its output; the two halves infer them separately. */
export type BranchArms<V, Ctx, X, O> = {
  [K in keyof X]: readonly [
    connector: (value: V, ctx: Ctx) => MaybePromise<X[K]>,
    condition: (input: X[K], ctx: Ctx) => MaybePromise<boolean>,
    block: Block<X[K], any>,
  ];
} & { [K in keyof O]: readonly [connector: unknown, condition: unknown, block: Block<any, O[K]>] };

export type ArmOutputs<O> = O[keyof O];
