/**
 * Handlers: blocks that run a function of yours.
 */

import type { BlockConfig, ContextOf, AnySurroundings, Surroundings } from "./block-config.js";
import type { Block, Undeclared } from "./blocks.js";
import type { Capability } from "./capabilities.js";
import type { ResourceDefinitions, ScopedResourceDefinitions } from "./resources.js";
import type { LooseState } from "./schema.js";

/**
 * The function of a handler. With an output schema it returns the schema's input side, and otherwise whatever it returns
 * is the output. It is a conditional type so that the schema gives the returned literals their type.
 */
export type Execute<I, Ctx, OIn, R> = [OIn] extends [Undeclared]
  ? (input: I, ctx: Ctx) => R | Promise<R>
  : (input: I, ctx: Ctx) => NoInfer<OIn> | Promise<NoInfer<OIn>>;

export interface HandlerConfig<I, RawI, Raw, OIn, R, O, D extends AnySurroundings> extends BlockConfig<
  I,
  RawI,
  Raw,
  OIn,
  O,
  D,
  ContextOf<D>
> {
  /** Does the work. What it returns has to be JSON, and goes on to the next step. */
  execute: Execute<I, ContextOf<D>, OIn, R>;
}

/**
 * A block that runs a function of yours.
 *
 * ```ts
 * const count = handler({
 *   name: "count",
 *   inputSchema: z.string(),
 *   sessionStateSchema: z.object({ words: z.number().default(0) }),
 *   execute: async (input, ctx) => {
 *     await ctx.session.incState({ words: input.split(" ").length });
 *     return ctx.session.state.words;
 *   },
 * });
 * ```
 */
export declare function handler<
  I = any,
  RawI = I,
  Raw = RawI,
  OIn = Undeclared,
  R = any,
  O = R,
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
  config: HandlerConfig<
    I,
    RawI,
    Raw,
    OIn,
    R,
    O,
    Surroundings<RS, SS, US, PS, QS, Self, Parent, ParentIn, T, Res, SR, UR, PR, C>
  >,
): Block<Raw, O>;
