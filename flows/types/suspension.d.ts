/**
 * Runs that wait for somebody: `ctx.suspend`, and what a flow sees of it.
 */

import type { JsonValue, Schema } from "./schema.js";

export type SuspensionStatus = "pending" | "approved" | "rejected" | "submitted" | "skipped" | "expired";

/** How a question may be answered. */
export type SuspendAction = "approve" | "reject" | "submit" | "skip";

/** What `ctx.suspend` gives for a question that was skipped. */
export declare const SUSPENSION_SKIPPED: unique symbol;

/** What `ctx.suspend` gives: the answer's data, or the sentinel where the question may be skipped. */
export type SuspendAnswer<T, A extends SuspendAction> = "skip" extends A ? T | typeof SUSPENSION_SKIPPED : T;

export interface SuspendOptions<T = any, A extends SuspendAction = SuspendAction> {
  /** Why the run waits, for example `human_approval`. With `human_input` the usual answer is data. */
  reason: string;
  /** What the person who answers should read. */
  message?: string;
  data?: Record<string, unknown>;
  /** Which answers it takes. Usually yes and no; with a `resumeSchema` data too; with `human_input` only data. */
  allow?: readonly A[];
  /** The shape of the data of a yes or a submission. The debugger makes a form from it. */
  resumeSchema?: Schema<T, any> | { [key: string]: JsonValue };
  /** After this long without an answer, the call fails with `SuspensionTimeoutError`. */
  timeoutMs?: number;
  /** How a client of your own may show the question. */
  render?: { component: string; props?: Record<string, unknown> };
}

/** How a run stops to wait for somebody. It is control flow, not a failure, and no `rescue` ever sees it. */
export declare class SuspensionError extends Error {
  constructor(options: SuspendOptions & { suspensionId: string });
  readonly suspensionId: string;
  readonly reason: string;
  readonly data?: Record<string, unknown>;
  readonly resumeSchema?: Record<string, unknown>;
  readonly render?: { component: string; props?: Record<string, unknown> };
  readonly timeoutMs?: number;
}

/** Somebody answered a suspension with no. Unlike `SuspensionError`, a `rescue` can handle it. */
export declare class SuspensionRejectedError extends Error {
  constructor(suspensionId: string, rejectedBy?: string, rejectionData?: unknown);
  readonly suspensionId: string;
  readonly rejectedBy?: string;
  readonly rejectionData?: unknown;
}

/** Nobody answered a suspension in time. A `rescue` can handle it. */
export declare class SuspensionTimeoutError extends Error {
  constructor(suspensionId: string);
  readonly suspensionId: string;
}
