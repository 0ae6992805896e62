/**
 * `dispatcher`: a block that starts an internal or a task entry as a request of its own, and does not wait for it.
 */

import type { Block } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { MaybePromise, Schema } from "./schema.js";

/** Where the request runs. */
export interface DispatchHandle {
  sessionId: string;
  requestId: string;
  /** Whether the session was there already. */
  adopted: boolean;
}

export type DispatcherSession<I> =
  /** A session of this one's, made for the key when it is first used. */
  | { key: (input: I, ctx: BlockContext) => string }
  /** A session that is there, of this user and of the flow that is sent to. */
  | { id: (input: I, ctx: BlockContext) => string }
  /** That of whoever sent this request. */
  | { from: true };

/** Where to: by type and target, or, in a newer spelling, by the name of an internal entry alone. */
type InternalAddress =
  { type: "internal"; target: string; action?: undefined } | { type?: "internal"; target?: undefined; action: string };

export type InternalDispatcherConfig<I> = InternalAddress & {
  name: string;
  description?: string;
  /** Another flow of the folder; this one without it. */
  flowKind?: string;
  inputSchema?: Schema<I, any>;
  session: DispatcherSession<I>;
  /** The entry's input; this block's own input without it. */
  payload?: (input: I, ctx: BlockContext) => MaybePromise<unknown>;
  transient?: boolean;
};

/** A task of a board, as its dispatcher gets it. */
export interface TaskDispatchInput<P = any> {
  boardId: string;
  seat: string;
  taskId: string;
  attempt?: number;
  createdAt?: number;
  incarnationId?: string;
  payload: P;
}

export interface TaskDispatcherConfig<P> {
  name: string;
  description?: string;
  type: "task";
  /** An entry of `task.actions`, which gets the task's payload. */
  target: string;
  flowKind?: string;
  session: "per-task" | "per-worker" | { key: (task: P, ctx: BlockContext) => string };
  transient?: boolean;
}

export declare function dispatcher<I = any>(config: InternalDispatcherConfig<I>): Block<I, DispatchHandle>;
export declare function dispatcher<P = any>(
  config: TaskDispatcherConfig<P>,
): Block<TaskDispatchInput<P>, DispatchHandle>;

/** Raised by nothing here: a dispatcher can always start a request. Hosts of other kinds may not let it. */
export declare class NoDispatchSeamError extends Error {
  readonly code: "no-dispatch-seam";
  constructor(block: string);
}

/** A dispatcher was told no, and nothing was started. */
export declare class DispatchRefusedError extends Error {
  readonly code: "dispatch-refused";
  readonly blockName: string;
  readonly refused:
    | "no-entry"
    | "flow-not-found"
    | "session-not-found"
    | "session-not-addressable"
    | "no-sender"
    | "key-occupied"
    | "dispatch-rejected"
    | "invalid-payload"
    | "no-dispatch-operation";
  readonly detail: string;
}
