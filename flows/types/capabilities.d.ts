/**
 * Capabilities: what several blocks share by listing it in `uses`. Functions, resources and state, and for generators
 * context, tools and a model as well.
 */

import type { Block } from "./blocks.js";
import type { Schemas } from "./block-config.js";
import type { BlockContext, ContextTypes } from "./context.js";
import type { ContextSlot } from "./generator.js";
import type { AgentType, ItemVisibility } from "./items.js";
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
  /** State of the block itself, or of the sequencer. */
  self: unknown;
  targets: unknown;
  resources: unknown;
}

declare const brings: unique symbol;

export interface Capability<T extends CapabilityTypes = any, Presets extends string = any, Value = any> {
  readonly [brings]?: T;
  readonly kind: "capability";
  readonly name: T["name"];
  /** A reference with presets turned on or off, or changed. */
  readonly presets: (overrides: PresetOverrides<Presets>) => Capability<T, Presets, Value>;
  /** A reference with a value for the capability's `config`. */
  readonly config: (value: Value) => Capability<T, Presets, Value>;
  /** Both at once: names of presets are presets, the rest is configuration. */
  readonly with: (bag: any) => Capability<T, Presets, Value>;
}

/** Older places for resources, by scope; what is listed in `resources` is typed. */
interface OlderPlaces {
  sessionResources?: ResourceDefinitions;
  userResources?: ResourceDefinitions;
  projectResources?: ResourceDefinitions;
  orgResources?: ResourceDefinitions;
}

/** What a preset of a capability adds to a block. */
export interface Preset extends OlderPlaces {
  resources?: ResourceDefinitions;
  requestStateSchema?: Schema;
  sessionStateSchema?: Schema;
  userStateSchema?: Schema;
  orgStateSchema?: Schema;
  projectStateSchema?: Schema;
  stateSchema?: Schema;
  sequencerStateSchema?: Schema;
  targetStateSchemas?: Record<string, Schema>;
  context?: ContextSlot<any, BlockContext>;
  tools?: readonly Block[] | ((ctx: BlockContext) => MaybePromise<readonly Block[]>);
  controlTools?: readonly Block[] | ((ctx: BlockContext) => MaybePromise<readonly Block[]>);
  model?: ModelChoice | ((input: any, ctx: BlockContext) => MaybePromise<ModelChoice>);
  providerOptions?: ProviderOptions | ((input: any, ctx: BlockContext) => MaybePromise<ProviderOptions>);
  caching?: ModelCaching;
}

export type PresetOverrides<Presets extends string> = {
  [K in Presets]?: boolean | ((preset: Preset) => Preset);
};

/**
 * A capability, or a function that chooses some while a generator runs. What is chosen so may bring context and tools only.
 * Annotate it as `(ctx: BlockContext) => …`, or TypeScript loses sight of the capabilities beside it.
 */
export type Use = Capability | ((ctx: BlockContext) => MaybePromise<readonly Capability[]>);

/** State that nobody has declared is loose. */
type OrLoose<S> = unknown extends S ? LooseState : S;

/** What `fns` gets. */
interface CapabilityContext<RS, SS, US, PS, Self, T, Res> extends ContextTypes {
  request: OrLoose<RS>;
  session: OrLoose<SS>;
  user: OrLoose<US>;
  project: OrLoose<PS>;
  sequencer: LooseState;
  self: unknown extends Self ? never : Self;
  parent: never;
  parentInput: any;
  targets: T;
  resources: Res;
  cap: {};
}

export interface CapabilityConfig<
  N extends string,
  F,
  RS,
  SS,
  US,
  PS,
  Self,
  T,
  Res,
  Presets extends string = string,
  Value = any,
  Parsed = any,
>
  extends Schemas<RS, SS, US, PS>, OlderPlaces {
  /** What the block finds it by: `ctx.cap.<name>`. */
  name: N;
  /** Joins the block's own state. Two declarations of one field have to be the same schema object. */
  stateSchema?: Schema<Self, any>;
  /** As `stateSchema`, for sequencers only. */
  sequencerStateSchema?: Schema<Self, any>;
  targetStateSchemas?: { [K in keyof T]: Schema<T[K], any> };
  resources?: Res;
  /** Makes what `ctx.cap.<name>` is, once for each run of a block, when the block first asks for it. */
  fns?: (ctx: BlockContext<CapabilityContext<RS, SS, US, PS, Self, T, Res>>) => F;

  // The rest applies to generators only, and fails the load on any other kind of block.

  /** Added to the generator's own context. */
  context?: ContextSlot<any, BlockContext>;
  /** Tools of a generator that lists none itself. */
  tools?: readonly Block[] | ((input: any, ctx: BlockContext) => MaybePromise<readonly Block[]>);
  /** Tools that stay even where a generator lists its own. */
  controlTools?: readonly Block[] | ((input: any, ctx: BlockContext) => MaybePromise<readonly Block[]>);
  /** For generators that name no model. The last capability that has one counts. */
  model?: ModelChoice | ((input: any, ctx: BlockContext) => MaybePromise<ModelChoice>);
  providerOptions?: ProviderOptions | ((input: any, ctx: BlockContext) => MaybePromise<ProviderOptions>);
  caching?: ModelCaching;
  /** Capabilities that this one needs, and functions that choose some while a generator runs. */
  uses?: readonly Use[];
  /** Only for speakers of these types; one that says nothing is primary. */
  agentType?: AgentType | readonly AgentType[];
  itemVisibility?: ItemVisibility | readonly ItemVisibility[];
  /** Named parts that can be turned on and off. `default` lists those that are on; without it all are. */
  presets?: { [K in Presets]: Preset | readonly string[] } & { default?: readonly string[] };
  /** A value that whoever uses it gives, and what is made of it. */
  config?: {
    schema?: Schema<Parsed, Value>;
    resolve: (value: NoInfer<Parsed>, ctx: { presets: ReadonlySet<string> }) => Preset | void;
  };
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
  Self = unknown,
  T = {},
  Res extends ResourceDefinitions = {},
  F = {},
  const Presets extends string = never,
  Value = any,
  Parsed = any,
>(
  config: CapabilityConfig<N, F, RS, SS, US, PS, Self, T, Res, Presets, Value, Parsed>,
): Capability<
  {
    name: N;
    fns: F;
    request: RS;
    session: SS;
    user: US;
    project: PS;
    self: Self;
    targets: T;
    resources: Res;
  },
  Exclude<Presets, "default">,
  Value
>;

/** The capability that a configured reference stands for. */
export declare function getBaseCapability<C extends Capability>(reference: C): C;

type Intersected<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void ? I : never;

/** What each listed capability brings. Where TypeScript cannot tell the list, which is then any `Use`, it is nothing. */
type BroughtBy<C> = [Use] extends [C] ? never : C extends Capability<infer T> ? T : never;

/** Boxed, because a union with the `unknown` of a capability that brings nothing would be `unknown`. */
type Boxed<T, K extends keyof CapabilityTypes> = T extends CapabilityTypes ? { brought: T[K] } : never;

/** One part of what the capabilities `C` bring, all of them together. */
export type Brought<C, K extends keyof CapabilityTypes> =
  Intersected<Boxed<BroughtBy<C>, K>> extends { brought: infer B } ? B : unknown;

/** `ctx.cap`: the listed capabilities by name. */
export type CapabilityMap<C> = { readonly [T in BroughtBy<C> as T["name"]]: T["fns"] };

/** A block's own state, joined with what its capabilities bring; `never` when neither declares any. */
export type OwnState<Self, C> = [Self] extends [never]
  ? unknown extends Brought<C, "self">
    ? never
    : Brought<C, "self">
  : Self & Brought<C, "self">;
