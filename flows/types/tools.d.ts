/**
 * How the tools of generators are run.
 */

import type { Block, RetryPolicy } from "./blocks.js";
import type { BlockContext } from "./context.js";

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
