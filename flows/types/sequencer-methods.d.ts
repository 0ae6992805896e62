/**
 * The methods of a sequencer whose arguments have several forms: a block, a connector and a block, or a factory and an
 * inline configuration.
 */

import type { AnySurroundings, BlockConfig } from "./block-config.js";
import type { Block, BlockOutput, Undeclared } from "./blocks.js";
import type { generator, InlineGeneratorConfig } from "./generator.js";
import type { Execute, handler } from "./handler.js";
import type { router } from "./router.js";
import type { MaybePromise, Schema } from "./schema.js";
import type { Sequencer } from "./sequencer.js";
import type { FanOutOptions } from "./sequencer-branches.js";

type Callback<V, Ctx, R> = (value: V, ctx: Ctx) => MaybePromise<R>;

/** A function of the chain's value, or a constant. */
export type Condition<V, Ctx> = boolean | ((value: V, ctx: Ctx) => MaybePromise<boolean>);

/** An inline handler. Its input is the value of the chain, and it sees the sequencer's state. */
export interface InlineHandlerConfig<V, OIn, R, O, Ctx> extends Omit<
  BlockConfig<V, V, V, OIn, O, AnySurroundings, Ctx>,
  "name" | "inputSchema" | "outputSchema"
> {
  /** Give a name to a block whose path should stay the same when the chain changes. */
  name?: string;
  outputSchema?: Schema<O, OIn>;
  execute: Execute<V, Ctx, OIn, R>;
}

/** An inline router. Its routes accept the value of the chain. */
export interface InlineRouterConfig<V, B extends Block<any, any>, Ctx> {
  name?: string;
  description?: string;
  routes: readonly B[];
  /** Picks one of `routes`. It must not write anything, because a resume calls it again. */
  execute: (input: V, ctx: Ctx) => MaybePromise<Block<any, BlockOutput<B>>>;
}

/** How a step's block ended; `suspended` while a question of it waits for an answer. */
export type StepOutcome = "returned" | "threw" | "suspended";

/** The options of a step. */
export interface StepOptions<Ctx = any> {
  /**
   * Called right before the block runs. `ctx.signal` of the block, and of all blocks inside it, fires when this signal
   * or the signal around the step fires.
   */
  abortSignal?: (ctx: Ctx) => AbortSignal | undefined;
  /** Called once with the outcome of the block. Errors that it throws are ignored. */
  onSettled?: (ctx: Ctx, outcome: StepOutcome) => void;
}

/** `This` is the type on which the method may be called; see `NotAwaited`. */
export interface StepMethod<In, V, Ctx, D, E, This = unknown> {
  <O>(this: This, block: Block<V, O>, options?: StepOptions<Ctx>): Sequencer<In, O, Ctx, D, E>;
  <X, O>(
    this: This,
    connector: Callback<V, Ctx, X>,
    block: Block<X, O>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, O, Ctx, D, E>;
  <OIn = Undeclared, R = any, O = R>(
    this: This,
    factory: typeof handler,
    config: InlineHandlerConfig<V, OIn, R, O, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, O, Ctx, D, E>;
  <O = string>(
    this: This,
    factory: typeof generator,
    config: InlineGeneratorConfig<V, O, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, O, Ctx, D, E>;
  <B extends Block<V, any>>(
    this: This,
    factory: typeof router,
    config: InlineRouterConfig<V, B, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, BlockOutput<B>, Ctx, D, E>;
}

declare const awaited: unique symbol;

/**
 * Any sequencer, except for `await`. A method called `then` makes an object look like a promise, and TypeScript checks
 * on which type it may be called: a sequencer is assignable to this type, but is not a subtype of it, as `await`
 * requires.
 */
export interface NotAwaited {
  readonly kind: "sequencer";
  readonly [awaited]?: never;
}

/** The type that `await` sees: an asynchronous function that returns a sequencer resolves to a block. */
export interface AwaitedAsBlock<B> {
  (onFulfilled: (block: B) => void, onRejected: (reason: unknown) => void): void;
}

export interface ConditionalStepMethod<In, V, Ctx, D, E> {
  <O>(condition: Condition<V, Ctx>, block: Block<V, O>, options?: StepOptions<Ctx>): Sequencer<In, V | O, Ctx, D, E>;
  <X, O>(
    condition: Condition<V, Ctx>,
    connector: Callback<V, Ctx, X>,
    block: Block<X, O>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, V | O, Ctx, D, E>;
  <OIn = Undeclared, R = any, O = R>(
    condition: Condition<V, Ctx>,
    factory: typeof handler,
    config: InlineHandlerConfig<V, OIn, R, O, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, V | O, Ctx, D, E>;
  <O = string>(
    condition: Condition<V, Ctx>,
    factory: typeof generator,
    config: InlineGeneratorConfig<V, O, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, V | O, Ctx, D, E>;
  <B extends Block<V, any>>(
    condition: Condition<V, Ctx>,
    factory: typeof router,
    config: InlineRouterConfig<V, B, Ctx>,
    options?: StepOptions<Ctx>,
  ): Sequencer<In, V | BlockOutput<B>, Ctx, D, E>;
}

export interface TapMethod<In, V, Ctx, D, E> {
  (block: Block<V, any>): Sequencer<In, V, Ctx, D, E>;
  (fn: Callback<V, Ctx, unknown>): Sequencer<In, V, Ctx, D, E>;
  <X>(connector: Callback<V, Ctx, X>, block: Block<X, any>): Sequencer<In, V, Ctx, D, E>;
  <OIn = Undeclared, R = any, O = R>(
    factory: typeof handler,
    config: InlineHandlerConfig<V, OIn, R, O, Ctx>,
  ): Sequencer<In, V, Ctx, D, E>;
  <O = string>(factory: typeof generator, config: InlineGeneratorConfig<V, O, Ctx>): Sequencer<In, V, Ctx, D, E>;
  <B extends Block<V, any>>(factory: typeof router, config: InlineRouterConfig<V, B, Ctx>): Sequencer<In, V, Ctx, D, E>;
}

export interface TapIfMethod<In, V, Ctx, D, E> {
  (condition: Condition<V, Ctx>, block: Block<V, any>): Sequencer<In, V, Ctx, D, E>;
  (condition: Condition<V, Ctx>, fn: Callback<V, Ctx, unknown>): Sequencer<In, V, Ctx, D, E>;
  <X>(condition: Condition<V, Ctx>, connector: Callback<V, Ctx, X>, block: Block<X, any>): Sequencer<In, V, Ctx, D, E>;
  <OIn = Undeclared, R = any, O = R>(
    condition: Condition<V, Ctx>,
    factory: typeof handler,
    config: InlineHandlerConfig<V, OIn, R, O, Ctx>,
  ): Sequencer<In, V, Ctx, D, E>;
  <O = string>(
    condition: Condition<V, Ctx>,
    factory: typeof generator,
    config: InlineGeneratorConfig<V, O, Ctx>,
  ): Sequencer<In, V, Ctx, D, E>;
}

export interface LoopMethod<In, V, Ctx, D, E> {
  <O>(condition: Callback<NoInfer<O>, Ctx, boolean>, block: Block<V | NoInfer<O>, O>): Sequencer<In, O, Ctx, D, E>;
  <X, O>(
    condition: Callback<NoInfer<O>, Ctx, boolean>,
    connector: Callback<V, Ctx, X>,
    block: Block<X | NoInfer<O>, O>,
  ): Sequencer<In, O, Ctx, D, E>;
}

/** Its name appears in an error message if a value cannot be iterated. */
interface ForEachNeedsAnArray {
  readonly forEachNeedsAnArray: never;
}

type IsAny<T> = 0 extends 1 & T ? true : false;

export type ElementOf<V> =
  IsAny<V> extends true
    ? any
    : V extends readonly (infer X)[]
      ? X
      : V extends null | undefined
        ? never
        : ForEachNeedsAnArray;

type ItemFactory<X, Ctx, B> = (item: X, index: number, ctx: Ctx) => B;

export interface IterationOptions extends FanOutOptions {
  /** The blocks that a function for each element may return, so that they are known before anything runs. */
  blocks?: readonly Block<any, any>[];
}

export interface ForEachMethod<In, V, Ctx, D, E> {
  <O>(block: Block<ElementOf<V>, O>, options?: IterationOptions): Sequencer<In, O[], Ctx, D, E>;
  <O>(
    factory: ItemFactory<ElementOf<V>, Ctx, Block<ElementOf<V>, O>>,
    options?: IterationOptions,
  ): Sequencer<In, O[], Ctx, D, E>;
  <X, O>(
    connector: Callback<V, Ctx, readonly X[]>,
    block: Block<X, O>,
    options?: IterationOptions,
  ): Sequencer<In, O[], Ctx, D, E>;
  <X, O>(
    connector: Callback<V, Ctx, readonly X[]>,
    factory: ItemFactory<X, Ctx, Block<X, O>>,
    options?: IterationOptions,
  ): Sequencer<In, O[], Ctx, D, E>;
}

export interface BackgroundPoolOptions {
  /** Default: 16. */
  concurrency?: number;
  blocks?: readonly Block<any, any>[];
}

export interface ForEachBackgroundMethod<In, V, Ctx, D, E> {
  (block: Block<ElementOf<V>, any>, options?: BackgroundPoolOptions): Sequencer<In, V, Ctx, D, E>;
  (
    factory: ItemFactory<ElementOf<V>, Ctx, Block<ElementOf<V>, any>>,
    options?: BackgroundPoolOptions,
  ): Sequencer<In, V, Ctx, D, E>;
  <X>(
    connector: Callback<V, Ctx, readonly X[]>,
    block: Block<X, any> | ItemFactory<X, Ctx, Block<X, any>>,
    options?: BackgroundPoolOptions,
  ): Sequencer<In, V, Ctx, D, E>;
}

export interface BackgroundOptions {
  /** Another name for the operation than `work:<block>`. */
  name?: string;
}

export interface BackgroundMethod<In, V, Ctx, D, E> {
  (block: Block<V, any>, options?: BackgroundOptions): Sequencer<In, V, Ctx, D, E>;
  <X>(connector: Callback<V, Ctx, X>, block: Block<X, any>, options?: BackgroundOptions): Sequencer<In, V, Ctx, D, E>;
}

export interface ConditionalBackgroundMethod<In, V, Ctx, D, E> {
  (condition: Condition<V, Ctx>, block: Block<V, any>, options?: BackgroundOptions): Sequencer<In, V, Ctx, D, E>;
  <X>(
    condition: Condition<V, Ctx>,
    connector: Callback<V, Ctx, X>,
    block: Block<X, any>,
    options?: BackgroundOptions,
  ): Sequencer<In, V, Ctx, D, E>;
}
