/**
 * How the tools of generators are run.
 */

import type { Block, RetryPolicy } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { MaybePromise } from "./schema.js";

/** One tool call, as the hooks see it. */
export interface ToolEvent {
  toolName: string;
  input: any;
  output?: any;
  error?: { name?: string; message: string; code?: string; details?: any };
  /** The output of an earlier call with the same arguments. */
  cached?: boolean;
}

/** A function, or a block that gets the event as its input. */
export type ToolHook = Block | ((event: ToolEvent, ctx: BlockContext) => unknown);

/** Settings of the flow reach every generator in it; `flowTools` of a generator come on top. */
export interface ToolsConfig {
  defaults?: {
    /** A call that takes longer has failed. The tool itself is not stopped. */
    timeoutMs?: number;
    /** Whether the calls of one answer run side by side. They do unless this is `serial`. */
    concurrency?: "parallel" | "serial";
    retry?: RetryPolicy;
  };
  /** If it throws, the call has failed. */
  onToolStarted?: ToolHook;
  onToolCompleted?: ToolHook;
  /** If it throws, the model is told its error in place of the tool's. */
  onToolErrored?: ToolHook;
}

/**
 * Which calls of a block a person must allow, where a generator has it as a tool. Elsewhere it changes nothing.
 *
 * ```ts
 * approval: { required: (args) => args.amount > 100, message: (args) => `Pay ${args.amount} EUR?` }
 * ```
 */
export interface ToolApproval<I = any, Ctx = BlockContext> {
  /** Asked once for each call, with the arguments as the block will get them. */
  required?: boolean | ((args: I, ctx: Ctx) => MaybePromise<boolean>);
  /** What the person should read. */
  message?: string | ((args: I, ctx: Ctx) => MaybePromise<string>);
  /** How a client of your own may show the question. */
  render?: { component: string; props?: Record<string, unknown> };
}

/** A call that a model wants, before it runs. `toolName` is the block's name. */
export interface ToolApprovalRequest {
  toolName: string;
  arguments: unknown;
  description?: string;
}

/** Tools by their names, or calls by a function. */
export type ToolApprovalChoice<Ctx = BlockContext> =
  readonly string[] | ((call: ToolApprovalRequest, ctx: Ctx) => MaybePromise<boolean>);

/**
 * What a generator makes of its tools' `approval`: it is as they say (`manual`), nobody is asked (`auto`), or every
 * call is asked for (`all`). Rules are for some tools; what is in `autoApprove` is never asked for.
 */
export type ToolApprovalPolicy<Ctx = BlockContext> =
  | "manual"
  | "auto"
  | "all"
  | {
      autoApprove?: ToolApprovalChoice<Ctx>;
      require?: ToolApprovalChoice<Ctx>;
      /** After this long without an answer the call has failed, and the model is told so. */
      timeoutMs?: number;
    };
