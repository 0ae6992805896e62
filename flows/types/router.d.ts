/**
 * Routers: blocks that pick one of several blocks and run it with their own input.
 */

import type { AnySurroundings, BlockConfig, ContextOf, Surroundings } from "./block-config.js";
import type { Block, BlockOutput, Undeclared } from "./blocks.js";
import type { Capability } from "./capabilities.js";
import type { ResourceDefinitions, ScopedResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise } from "./schema.js";

export interface RouterConfig<
  I,
  RawI,
  Raw,
  B extends Block<any, any>,
  OIn,
  O,
  D extends AnySurroundings,
> extends BlockConfig<I, RawI, Raw, OIn, O, D, ContextOf<D>> {
  /** The blocks it picks from. Each accepts the router's input. None where `validateRoute` alone decides. */
  routes: readonly B[];
  /** Picks one of `routes`. It must not write anything, because a resume asks it again. */
  execute: (input: I, ctx: ContextOf<D>) => MaybePromise<Block<any, [B] extends [never] ? any : BlockOutput<B>>>;
  /** Decides in place of `routes` whether a picked block is allowed. */
  validateRoute?: (candidate: Block, routes: readonly Block[], input: I, ctx: ContextOf<D>) => boolean;
}

/**
 * A block that picks one of several blocks and runs it with its own input.
 *
 * ```ts
 * const desk = router({
 *   name: "desk",
 *   inputSchema: ticket,
 *   routes: [billing, technical],
 *   execute: (input) => (input.topic === "billing" ? billing : technical),
 * });
 * ```
 */
export declare function router<
  B extends Block<I, any>,
  I = any,
  RawI = I,
  Raw = RawI,
  OIn = Undeclared,
  O = BlockOutput<B>,
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  QS extends object = LooseState,
  Self extends object = never,
  Parent extends object = never,
  ParentIn = any,
  T extends object = {},
  Res extends ResourceDefinitions = {},
  SR extends ScopedResourceDefinitions = {},
  UR extends ScopedResourceDefinitions = {},
  PR extends ScopedResourceDefinitions = {},
  C extends Capability = never,
>(
  config: RouterConfig<
    I,
    RawI,
    Raw,
    B,
    OIn,
    O,
    Surroundings<RS, SS, US, PS, QS, Self, Parent, ParentIn, T, Res, SR, UR, PR, C>
  >,
): Block<Raw, O>;
