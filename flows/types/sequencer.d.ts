/**
 * Sequencers: blocks that run other blocks in order.
 *
 * A definition is immutable. Every method returns a new definition with one more operation, so a half-built chain can be
 * kept and continued in two ways.
 */

import type { Block, BlockOutput, ContainerConfig, RescueHandler, Undeclared } from "./blocks.js";
import type { Brought, Capability, CapabilityMap, OwnState } from "./capabilities.js";
import type { BlockContext, SequencerContext } from "./context.js";
import type { Item } from "./item.js";
import type { Middleware, MiddlewareFn } from "./middleware.js";
import type { Schemas } from "./block-config.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type {
  AwaitedAsBlock,
  BackgroundMethod,
  Condition,
  ConditionalBackgroundMethod,
  ConditionalStepMethod,
  ForEachBackgroundMethod,
  ForEachMethod,
  LoopMethod,
  NotAwaited,
  StepMethod,
  TapIfMethod,
  TapMethod,
} from "./sequencer-methods.js";
import type { ArmOutputs, BranchArms, BranchOutput, FanOutBranch, FanOutOptions } from "./sequencer-branches.js";
import type { ToolApproval } from "./tools.js";

export type { StepOptions, StepOutcome } from "./sequencer-methods.js";

/** The declared output, or else the last value of the chain and every value it may leave early with. */
type Produced<V, D, E> = [D] extends [Undeclared] ? V | E : D;

/**
 * `In` is what the sequencer accepts, `V` the value of the chain so far, `Ctx` what its callbacks get, `D` its declared
 * output, and `E` the values with which it may end early.
 */
export interface Sequencer<in In = any, V = any, Ctx = SequencerContext, D = Undeclared, E = never> extends Block<
  In,
  Produced<V, D, E>
> {
  readonly kind: "sequencer";

  /** Runs a block with the current value, which its output then replaces. */
  step: StepMethod<In, V, Ctx, D, E>;
  /** An older spelling of `step`. */
  then: StepMethod<In, V, Ctx, D, E, NotAwaited> & AwaitedAsBlock<Block<In, Produced<V, D, E>>>;

  /** As `step` when the condition holds. Otherwise nothing runs and the value stays. */
  stepIf: ConditionalStepMethod<In, V, Ctx, D, E>;
  /** An older spelling of `stepIf`. */
  thenIf: ConditionalStepMethod<In, V, Ctx, D, E>;

  /** Computes the next value. It is not a block, so it has no row in the timeline. */
  map<X>(fn: (value: V, ctx: Ctx) => MaybePromise<X>): Sequencer<In, X, Ctx, D, E>;

  /** Runs a block or a function for its effects. The value stays; a failure still fails the chain. */
  tap: TapMethod<In, V, Ctx, D, E>;
  /** As `tap` when the condition holds. */
  tapIf: TapIfMethod<In, V, Ctx, D, E>;

  /** Gives every branch the same value and collects their outputs under the same keys. */
  parallel<P extends Record<string, FanOutBranch<V, Ctx>>>(
    branches: P,
    options?: FanOutOptions,
  ): Sequencer<In, { -readonly [K in keyof P]: BranchOutput<P[K]> }, Ctx, D, E>;

  /** As `parallel`, with a list. */
  stepAll<const P extends readonly FanOutBranch<V, Ctx>[]>(
    branches: P,
    options?: FanOutOptions,
  ): Sequencer<In, { -readonly [K in keyof P]: BranchOutput<P[K]> }, Ctx, D, E>;
  /** An older spelling of `stepAll`. */
  thenAll: Sequencer<In, V, Ctx, D, E>["stepAll"];

  /** Tries blocks in order; the first success wins. Fails with an `AggregateError` when all have failed. */
  stepAny<B extends Block<V, any>>(blocks: readonly B[]): Sequencer<In, BlockOutput<B>, Ctx, D, E>;
  /** An older spelling of `stepAny`. */
  thenAny: Sequencer<In, V, Ctx, D, E>["stepAny"];

  /** Starts all blocks at once; the first success wins. Fails with an `AggregateError` when all have failed. */
  race<B extends Block<V, any>>(
    blocks: readonly B[],
    options?: FanOutOptions,
  ): Sequencer<In, BlockOutput<B>, Ctx, D, E>;

  /** Runs a block for each element of an array and collects the outputs in the same order. */
  forEach: ForEachMethod<In, V, Ctx, D, E>;

  /** Feeds a block its own output until the condition holds. It runs at least once and at most 251 times. */
  doUntil: LoopMethod<In, V, Ctx, D, E>;
  /** Feeds a block its own output while the condition holds. It runs at least once and at most 251 times. */
  doWhile: LoopMethod<In, V, Ctx, D, E>;

  /** Jumps back to an earlier operation, such as a step by the name of its block, at most `maxIterations` times. */
  loopBack(target: string, options: { when?: Condition<V, Ctx>; maxIterations: number }): Sequencer<In, V, Ctx, D, E>;

  /** Starts a block in the background. The request waits for it before it ends, the chain does not. */
  work: BackgroundMethod<In, V, Ctx, D, E>;
  /** The same as `work`. */
  background: BackgroundMethod<In, V, Ctx, D, E>;
  /** A newer spelling of `work`. */
  sideChain: BackgroundMethod<In, V, Ctx, D, E>;
  /** As `work` when the condition holds. It is asked once. */
  workIf: ConditionalBackgroundMethod<In, V, Ctx, D, E>;
  /** A newer spelling of `workIf`. */
  sideChainIf: ConditionalBackgroundMethod<In, V, Ctx, D, E>;
  /** Starts a block for each element of an array, in the background. One failure does not stop the others. */
  forEachBackground: ForEachBackgroundMethod<In, V, Ctx, D, E>;
  /** A newer spelling of `forEachBackground`. */
  forEachSideChain: ForEachBackgroundMethod<In, V, Ctx, D, E>;
  /** Waits for the background work of this sequencer. Its failures count only with `failOnError`. */
  waitForWork(options?: { failOnError?: boolean; timeoutMs?: number }): Sequencer<In, V, Ctx, D, E>;
  /** A newer spelling of `waitForWork`. */
  waitForSideChain(options?: { failOnError?: boolean; timeoutMs?: number }): Sequencer<In, V, Ctx, D, E>;

  /** Waits until the items of the request satisfy a predicate, or the time is up. */
  waitForCondition(
    predicate: (items: readonly Item[]) => boolean,
    options: { timeoutMs: number; wakeOn?: (item: Item, kind: "added" | "updated" | "done") => boolean },
  ): Sequencer<In, { timedOut: boolean }, Ctx, D, E>;

  /** Ends the chain early with the current value. */
  exitIf(condition: Condition<V, Ctx>): Sequencer<In, V, Ctx, D, E | V>;
  /** Fails the chain with the error given. */
  throwIf(
    condition: Condition<V, Ctx>,
    error: Error | ((value: V, ctx: Ctx) => MaybePromise<Error>),
  ): Sequencer<In, V, Ctx, D, E>;

  /**
   * Runs the first arm whose condition holds, and fails if none does. An arm is `[connector, condition, block]`: the
   * connector makes the arm's input from the value, and both others get that input.
   */
  branch<X extends Record<string, any>, O extends Record<string, any>>(
    arms: BranchArms<V, Ctx, X, O>,
  ): Sequencer<In, ArmOutputs<O>, Ctx, D, E>;

  /** Handles any failure of the chain, wherever this stands in it. The handler's output becomes the sequencer's. */
  readonly rescue: <R extends RescueHandler>(
    handlers: readonly R[],
  ) => Sequencer<In, V, Ctx, D, E | BlockOutput<R["block"]>>;

  /** The same sequencer behind another input. */
  readonly connectInput: <Raw = any>(
    mapper: (raw: Raw, ctx: BlockContext) => MaybePromise<In>,
  ) => Sequencer<Raw, V, Ctx, D, E>;

  /** Checks when the flow loads that the chain can produce the declared output. */
  validate(): void;
}

export interface SequencerConfig<I, RawI, S, D, RS, SS, US, PS, QS, C extends Capability, Ctx> extends Schemas<
  RS,
  SS,
  US,
  PS
> {
  /** Becomes part of the logical path of everything inside. */
  name: string;
  description?: string;
  /** What the chain starts with. Callers give its input side, and the first operation sees its output side. */
  inputSchema?: Schema<I, RawI>;
  /** Checked once, when the chain ends in whatever way. */
  outputSchema?: Schema<D, any>;
  /** State shared by everything that runs inside, fresh for each execution and checkpointed at every step boundary. */
  stateSchema?: Schema<S, any>;
  /** What that state begins with, in place of the schema's own defaults. */
  defaultState?: Partial<NoInfer<S>>;
  /** For a sequencer without state of its own: the slice of the enclosing sequencer's state that its callbacks read. */
  sequencerStateSchema?: Schema<QS, any>;
  /** False leaves out the checkpoints. The run can then not resume inside this sequencer. */
  durable?: boolean;
  /** Keeps the sequencer's own execution record out of the session. */
  transient?: boolean;
  uses?: readonly C[];
  /** Shown as a status when the chain starts. */
  activeStatusMessage?: string | ((input: I, ctx: Ctx) => string);
  /** Groups what is emitted inside, for clients that show it together. */
  container?: ContainerConfig<I>;
  /** Runs around the whole chain, inside of the flow's own; outermost first. */
  middleware?: readonly (Middleware | MiddlewareFn)[];
  /** Where a generator has this chain as a tool: which calls a person must allow first. */
  approval?: ToolApproval;
}

/** `ctx` of the callbacks in a chain. */
export type ChainContext<RS, SS, US, PS, QS, S, C> = SequencerContext<
  {
    request: RS & Brought<C, "request">;
    session: SS & Brought<C, "session">;
    user: US & Brought<C, "user">;
    project: PS & Brought<C, "project">;
    sequencer: QS;
    self: OwnState<S, C>;
    parent: never;
    parentInput: any;
    targets: {} & Brought<C, "targets">;
    resources: {} & Brought<C, "resources">;
    cap: CapabilityMap<C>;
  },
  OwnState<S, C>
>;

/**
 * A block that runs other blocks in order.
 *
 * ```ts
 * const pipeline = sequencer({
 *   name: "pipeline",
 *   inputSchema: z.string(),
 *   stateSchema: z.object({ currentStep: z.number().default(0) }),
 * })
 *   .tap(planner)
 *   .stepIf((_, ctx) => ctx.sequencer.state.currentStep < 3, execute)
 *   .map((value) => ({ answer: value }));
 * ```
 */
export declare function sequencer<
  I = any,
  RawI = I,
  S extends object = never,
  D = Undeclared,
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  QS extends object = LooseState,
  C extends Capability = never,
>(
  config: SequencerConfig<I, RawI, S, D, RS, SS, US, PS, QS, C, ChainContext<RS, SS, US, PS, QS, S, C>>,
): Sequencer<RawI, I, ChainContext<RS, SS, US, PS, QS, S, C>, D>;
