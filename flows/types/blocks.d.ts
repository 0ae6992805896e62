/**
 * Blocks: the unit that a flow is built from and that a timeline shows. This file has what a finished block of any kind
 * offers. How blocks are made is in `handler.d.ts`, `router.d.ts`, `generator.d.ts` and `sequencer.d.ts`.
 */

import type { BlockContext } from "./context.js";
import type { ItemIdentity } from "./items.js";
import type { ResourceDefinitions } from "./resources.js";
import type { ErrorClass, MaybePromise, Schema } from "./schema.js";

declare const types: unique symbol;
declare const undeclared: unique symbol;

/** Stands for a schema that a block does not have. */
export interface Undeclared {
  readonly [undeclared]: true;
}

/** An evaluator is stored as a handler. */
export type BlockKind = "handler" | "generator" | "sequencer" | "router" | "evaluator";

/** Something that takes an `In` and produces an `Out`. Any block can be a step, a route, a tool or the root of an action. */
export interface Block<in In = any, out Out = any> {
  readonly [types]: { readonly input: (value: In) => void; readonly output: Out };
  readonly kind: BlockKind;
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly config: object;
  /** The resources of this block and of every block below it. */
  readonly declaredResources?: ResourceDefinitions;

  // These are properties rather than methods, because only then does inference treat `In` as what a block takes.

  /** The same block behind another input. On a block that has a mapper already, this one takes its place. */
  readonly connectInput: <Raw = any>(mapper: (raw: Raw, ctx: BlockContext) => MaybePromise<In>) => Block<Raw, Out>;
  /** The same block with its output mapped. Its `onCompleted` is dropped, because it would see the old output. */
  readonly connectOutput: <Next>(mapper: (output: Out, ctx: BlockContext) => MaybePromise<Next>) => Block<In, Next>;
  /** What a model sees when this block is its tool. Everybody else still gets the structured output. */
  readonly mapModelOutput: (mapper: (output: Out, ctx: BlockContext) => MaybePromise<string>) => Block<In, Out>;
  /**
   * Runs the block inside the one whose `ctx` this is. It has a path, attempts and a commit of its own, and a resume takes
   * its output from the log. What the function around it has written to a record the block cannot overwrite.
   */
  readonly run: (input: In, ctx?: RunContext) => Promise<Out>;
  /** The same block under another name, with another description where you give one. */
  readonly as: (options: { name?: string; description?: string }) => Block<In, Out>;
  /** A handler that runs this block and records the run as a tool call. */
  readonly asTool: (options?: ItemIdentity) => Block<In, Out>;
  /**
   * Handles a failure with another block, whose output takes the place of the failed one's. The first handler whose `when`
   * fits is run; calling this again replaces the list.
   */
  readonly rescue: <R extends RescueHandler>(handlers: readonly R[]) => Block<In, Out | BlockOutput<R["block"]>>;
}

/** `ctx` of any function: of a block, of a chain, of a hook. */
export type RunContext = Pick<BlockContext, "attempt" | "idempotencyKey">;

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
  /** How often it is tried altogether. */
  maxAttempts?: number;
  /** The pause before the second try; it doubles from there. */
  baseDelayMs?: number;
  maxDelayMs?: number;
  /** Only these. A `FlowError` that says it is not retryable never is. */
  retryableErrors?: readonly ErrorClass[];
}

/** Caching of a block that a generator uses as a tool. */
export interface CacheConfig<I = any, O = any> {
  /** Milliseconds. */
  ttl?: number;
  /** A cache ends with its request, whatever it says. */
  scope?: "run" | "request" | "session";
  /** What makes two calls the same. Without it, the arguments do. */
  keyFn?: (input: I, ctx: any) => string;
  /** Which outputs are worth keeping. */
  cacheIf?: (output: O, input: I) => boolean;
}

/** How a client shows together what is emitted inside a sequencer or router. */
export interface ContainerConfig<I = any> {
  component?: string;
  label?: string | ((input: I) => string);
  metadata?: Record<string, unknown> | ((input: I) => Record<string, unknown>);
}
