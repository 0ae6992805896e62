/**
 * Actions: what a caller can run.
 */

import type { Block } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { Schema } from "./schema.js";

/** A block, or a function that becomes a handler. */
export type FlowHook = Block<any, any> | ((value: any, ctx: BlockContext) => unknown);

export type ConcurrencyPolicy = "allow" | "queue" | "reject" | "hold" | "defer";

/** What happens when an action is started while another one runs, by default in the same session. */
export type Concurrency =
  | ConcurrencyPolicy
  | {
      policy: ConcurrencyPolicy;
      /** Which requests stand in each other's way. `none`, or undefined from a function, lets this one run at once. */
      key?: "session" | "user" | "none" | ((request: ConcurrencyRequest) => string | undefined);
    };

export interface ConcurrencyRequest {
  flowKind: string;
  actionName: string;
  sessionId?: string;
  userId: string;
  projectId?: string;
  orgId?: string;
  source?: string;
  metadata?: Record<string, unknown>;
}

/** How many tokens the models of one request may use. */
export interface TokenBudget {
  maxTotalTokens: number;
  /** Up to 1 it is a part of the budget, above that a number of tokens. */
  warnAt?: number;
  /** `stop` ends the request with what there is, `warn` only says so. */
  onExceeded?: "error" | "stop" | "warn";
}

type ActionRoot<I> =
  | { block: Block<I, any>; steps?: undefined }
  /** An older spelling of `block`. */
  | { steps: Block<I, any>; block?: undefined };

interface ActionSettings<I> {
  /** What a caller must give. Without it, the input schema of the root block. The run form is made from it. */
  inputSchema?: Schema<I, any>;
  /** What the action does, for the person who starts it. */
  description?: string;
  /** Runs after the root block has succeeded, before the request's own hook. */
  onCompleted?: FlowHook;
  onErrored?: FlowHook;
  /** The text of a user message that is emitted before the root block runs. */
  userMessage?: (input: I) => string;
  concurrency?: Concurrency;
  /** Every action can wait and be resumed here, so that this changes nothing. */
  durable?: boolean;
  tokenBudget?: TokenBudget;
  /** For hosts that offer actions as tools; it means nothing here. */
  mcp?: { enabled?: boolean; name?: string; session?: unknown };
}

/** One thing a caller can run. */
export type ActionConfig<I = any> = ActionRoot<I> & ActionSettings<I>;

/** Settings over those of an action that is there already. */
export type ActionOverride = Partial<{ block: Block; steps: Block }> & ActionSettings<any>;
