/**
 * Capabilities: what several blocks share by listing it in `uses`. Functions, resources and state, and for generators
 * context, tools and a model as well.
 */

import type { Block } from "./blocks.js";
import type { Schemas } from "./block-config.js";
import type { BlockContext, ContextTypes } from "./context.js";
import type { ContextSlot } from "./generator.js";
import type { ModelCaching, ModelChoice, ProviderOptions } from "./models.js";
import type { ResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";

/** What a capability brings into `ctx`. */
export interface CapabilityTypes {
  name: string;
  fns: unknown;
  request: unknown;
  session: unknown;
  user: unknown;
  project: unknown;
  resources: unknown;
}

declare const brings: unique symbol;

export interface Capability<T extends CapabilityTypes = any> {
  readonly [brings]?: T;
  readonly kind: "capability";
  readonly name: T["name"];
}

/** A capability, or a function that decides when the block runs. Such a function may bring context and tools only. */
export type Use<C extends Capability> = C | ((ctx: BlockContext) => readonly Capability[]);

/** State that nobody has declared is loose. */
type OrLoose<S> = unknown extends S ? LooseState : S;

/** What `fns` gets. */
interface CapabilityContext<RS, SS, US, PS, Self, Res> extends ContextTypes {
  request: OrLoose<RS>;
  session: OrLoose<SS>;
  user: OrLoose<US>;
  project: OrLoose<PS>;
  sequencer: LooseState;
  self: Self;
  parent: never;
  parentInput: any;
  targets: {};
  resources: Res;
  cap: {};
}

export interface CapabilityConfig<N extends string, F, RS, SS, US, PS, Self, Res>
  extends Schemas<RS, SS, US, PS> {
  /** What the block finds it by: `ctx.cap.<name>`. */
  name: N;
  /** The block's own state. Two declarations of one field have to be the same schema object. */
  stateSchema?: Schema<Self, any>;
  /** Allowed on sequencers only. */
  sequencerStateSchema?: Schema;
  targetStateSchemas?: Record<string, Schema>;
  resources?: Res;
  /** Makes what `ctx.cap.<name>` is. Asked once for each run of a block. */
  fns?: (ctx: BlockContext<CapabilityContext<RS, SS, US, PS, Self, Res>>) => F;

  // The rest applies to generators only, and fails the load on any other kind of block.

  /** Added to the generator's own context. */
  context?: ContextSlot<any, BlockContext>;
  /** Added to the generator's own tools. */
  tools?: readonly Block[] | ((input: any, ctx: BlockContext) => MaybePromise<readonly Block[]>);
  /** Tools that stay even where a generator lists its own. */
  controlTools?: readonly Block[];
  /** For generators that name no model. The last capability that has one counts. */
  model?: ModelChoice | ((input: any, ctx: BlockContext) => MaybePromise<ModelChoice>);
  providerOptions?: ProviderOptions | ((input: any, ctx: BlockContext) => MaybePromise<ProviderOptions>);
  caching?: ModelCaching;
  presets?: Record<string, unknown>;
  config?: Record<string, unknown>;
}

/**
 * Defines what blocks can share. A capability that a block inherits from the blocks around it is in `ctx.cap`, too, but
 * only those that it lists itself are typed.
 */
export declare function defineCapability<
  const N extends string,
  RS = unknown,
  SS = unknown,
  US = unknown,
  PS = unknown,
  Self = never,
  Res extends ResourceDefinitions = {},
  F = {},
>(
  config: CapabilityConfig<N, F, RS, SS, US, PS, Self, Res>,
): Capability<{ name: N; fns: F; request: RS; session: SS; user: US; project: PS; resources: Res }>;

type Intersected<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void ? I : never;

type BroughtBy<C> = C extends Capability<infer T> ? T : never;

/** One part of what the capabilities `C` bring, all of them together. */
export type Brought<C, K extends keyof CapabilityTypes> = [C] extends [never] ? unknown : Intersected<BroughtBy<C>[K]>;

/** `ctx.cap`: the listed capabilities by name. */
export type CapabilityMap<C> = { readonly [T in BroughtBy<C> as T["name"]]: T["fns"] };

