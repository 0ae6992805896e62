/**
 * Blocks: the unit that a flow is built from and that a timeline shows. This file has what all kinds share, and handlers
 * and routers; sequencers and generators have files of their own.
 */

import type { BlockContext, LooseTypes } from "./context.js";
import type { ItemIdentity } from "./items.js";
import type { ResourceDefinitions } from "./resources.js";
import type { ErrorClass, LooseState, MaybePromise, Schema } from "./schema.js";

declare const types: unique symbol;
declare const undeclared: unique symbol;

/** Stands for a schema that a block does not have. */
export interface Undeclared {
  readonly [undeclared]: true;
}

/**
 * The function of a handler. With an output schema it returns the schema's input side, and otherwise whatever it returns
 * is the output. It is a conditional type so that the schema gives the returned literals their type.
 */
export type Execute<I, Ctx, OIn, R> = [OIn] extends [Undeclared]
  ? (input: I, ctx: Ctx) => R | Promise<R>
  : (input: I, ctx: Ctx) => NoInfer<OIn> | Promise<NoInfer<OIn>>;

export type BlockKind = "handler" | "generator" | "sequencer" | "router";

/** Something that takes an `In` and produces an `Out`. Any block can be a step, a route, a tool or the root of an action. */
export interface Block<in In = any, out Out = any> {
  readonly [types]: { readonly input: (value: In) => void; readonly output: Out };
  readonly kind: BlockKind;
  readonly name: string;
  readonly description?: string;
  readonly transient: boolean;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly config: object;

  // These are properties rather than methods, because only then does inference treat `In` as what a block takes.

  /** The same block behind another input. */
  readonly connectInput: <Raw = any>(mapper: (raw: Raw, ctx: BlockContext) => MaybePromise<In>) => Block<Raw, Out>;
  /** The same block with its output mapped. Its `onCompleted` is dropped, because it would see the old output. */
  readonly connectOutput: <Next>(mapper: (output: Out, ctx: BlockContext) => MaybePromise<Next>) => Block<In, Next>;
  /** What a model sees when this block is its tool. Everybody else still gets the structured output. */
  readonly mapModelOutput: (mapper: (output: Out, ctx: BlockContext) => MaybePromise<string>) => Block<In, Out>;
  /** A handler that runs this block and records the run as a tool call. */
  readonly asTool: (options?: ItemIdentity) => Block<In, Out>;
  /** Handles a failure with another block, whose output takes the place of the failed one's. */
  readonly rescue: <R extends RescueHandler>(handlers: readonly R[]) => Block<In, Out | BlockOutput<R["block"]>>;
}

/** What a block produces. */
export type BlockOutput<B> = B extends { readonly [types]: { readonly output: infer Out } } ? Out : never;

/** What a block accepts. */
export type BlockInput<B> = B extends { readonly [types]: { readonly input: (value: infer In) => void } } ? In : never;

export interface RescueHandler<O = any> {
  /** Which failures it handles. Without this, all of them. */
  when?: readonly ErrorClass[];
  /** Gets the error as its input. */
  block: Block<any, O>;
}

export interface RetryPolicy {
  maxAttempts?: number;
  baseDelayMs?: number;
  maxDelayMs?: number;
  retryableErrors?: readonly ErrorClass[];
}

export interface ContainerConfig<I = any> {
  component?: string;
  label?: string | ((input: I) => string);
  metadata?: Record<string, unknown> | ((input: I) => Record<string, unknown>);
}

/**
 * The slices of state a block touches. Declaring them types `ctx`, and lets the engine refuse two declarations of one
 * field that cannot both hold. `org…` and `project…` name the same scope; give one of them.
 */
export interface StateSchemas<RS, SS, US, PS> {
  requestStateSchema?: Schema<RS, any>;
  sessionStateSchema?: Schema<SS, any>;
  userStateSchema?: Schema<US, any>;
  orgStateSchema?: Schema<PS, any>;
  projectStateSchema?: Schema<PS, any>;
}

/** What every kind of block may be configured with. */
export interface BlockConfig<I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res, Ctx>
  extends StateSchemas<RS, SS, US, PS> {
  /** Becomes part of the logical path, by which a resumed run recognises what it has already done. */
  name: string;
  description?: string;
  /** Input is parsed with it before the block runs, so `execute` sees defaults filled in. */
  inputSchema?: Schema<I, RawI>;
  /** Output is parsed with it before it leaves the block. */
  outputSchema?: Schema<O, OIn>;
  /** State of this one execution, as `ctx.self`. */
  stateSchema?: Schema<Self, any>;
  /** The slice of the enclosing sequencer's state that this block reads or writes. */
  sequencerStateSchema?: Schema<QS, any>;
  /** The state of blocks reached as `ctx.targets.<name>`. */
  targetStateSchemas?: { [K in keyof T]: Schema<T[K], any> };
  parentInputSchema?: Schema;
  parentStateSchema?: Schema;
  resources?: Res;
  /** The three older places for resources, by scope. */
  sessionResources?: ResourceDefinitions;
  userResources?: ResourceDefinitions;
  projectResources?: ResourceDefinitions;
  orgResources?: ResourceDefinitions;
  /** Turns what the chain hands over into this block's input. Annotate `raw` to say what it may be. */
  connectInput?: (raw: Raw, ctx: Ctx) => MaybePromise<RawI>;
  /** Shown as a status when the block starts. */
  activeStatusMessage?: string | ((input: I, ctx: Ctx) => string);
  /** Runs inside the block: if it throws, the block fails. */
  onCompleted?: (output: O, ctx: Ctx, meta?: { model?: unknown }) => unknown;
  onErrored?: (error: Error, ctx: Ctx) => unknown;
  retry?: RetryPolicy;
  rescue?: readonly RescueHandler[];
  /** Keeps the block's own execution record out of the session. What it emits is not affected. */
  transient?: boolean;
  container?: ContainerConfig<I>;
  requireOrg?: boolean;
  cacheable?: boolean | CacheConfig<I, O>;
  uses?: readonly (Capability | ((ctx: Ctx) => readonly Capability[]))[];
}

/** Caching of a block that a generator uses as a tool. */
export interface CacheConfig<I = any, O = any> {
  ttl?: number;
  scope?: "run" | "request" | "session";
  keyFn?: (input: I) => string;
  cacheIf?: (output: O) => boolean;
}

/** The context types of a block, put together from its schemas. */
export interface TypesOf<RS, SS, US, PS, QS, Self, T, Res> {
  request: RS;
  session: SS;
  user: US;
  project: PS;
  sequencer: QS;
  self: Self;
  parent: LooseState;
  parentInput: any;
  targets: T;
  resources: Res;
}

export interface HandlerConfig<I, RawI, Raw, OIn, R, O, RS, SS, US, PS, QS, Self, T, Res>
  extends BlockConfig<
    I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res,
    BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>
  > {
  execute: Execute<I, BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>, OIn, R>;
}

/** A block that runs a function of yours. */
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
  Self extends object = LooseState,
  T extends object = {},
  Res extends ResourceDefinitions = {},
>(config: HandlerConfig<I, RawI, Raw, OIn, R, O, RS, SS, US, PS, QS, Self, T, Res>): Block<Raw, O>;

export interface RouterConfig<I, RawI, Raw, B extends Block<any, any>, OIn, O, RS, SS, US, PS, QS, Self, T, Res>
  extends BlockConfig<
    I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res,
    BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>
  > {
  routes: readonly B[];
  /** Picks one of `routes`. It must not write anything, because a resume asks it again. */
  execute: (
    input: I,
    ctx: BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>,
  ) => MaybePromise<Block<any, BlockOutput<B>>>;
  /** Allows blocks that are not in `routes`. */
  validateRoute?: (
    candidate: Block,
    routes: readonly Block[],
    input: I,
    ctx: BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>,
  ) => boolean;
}

/** A block that picks one of several blocks and runs it with its own input. */
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
  Self extends object = LooseState,
  T extends object = {},
  Res extends ResourceDefinitions = {},
>(config: RouterConfig<I, RawI, Raw, B, OIn, O, RS, SS, US, PS, QS, Self, T, Res>): Block<Raw, O>;

/** Something blocks share by listing it in `uses`: functions, resources, state, and for generators context and tools. */
export interface Capability {
  readonly kind: "capability";
  readonly name: string;
}

export interface CapabilityConfig<RS, SS, US, PS, Self, Res extends ResourceDefinitions>
  extends StateSchemas<RS, SS, US, PS> {
  name: string;
  stateSchema?: Schema<Self, any>;
  sequencerStateSchema?: Schema;
  targetStateSchemas?: Record<string, Schema>;
  resources?: Res;
  /** What `ctx.cap.<name>` becomes. Evaluated once for each block. */
  fns?: (
    ctx: BlockContext<TypesOf<RS, SS, US, PS, LooseState, Self, {}, Res>>,
  ) => Record<string, unknown>;
  /** The following apply to generators only. */
  context?: unknown;
  tools?: readonly Block[] | ((input: any, ctx: BlockContext<LooseTypes>) => MaybePromise<readonly Block[]>);
  controlTools?: readonly Block[];
  model?: unknown;
  providerOptions?: unknown;
  caching?: unknown;
  presets?: Record<string, unknown>;
  config?: Record<string, unknown>;
}

export declare function defineCapability<
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  Self extends object = LooseState,
  Res extends ResourceDefinitions = {},
>(config: CapabilityConfig<RS, SS, US, PS, Self, Res>): Capability;
