/**
 * Runs that wait for a person's answer: `ctx.suspend`, its result and its errors.
 */

import type { JsonValue, Schema } from "./schema.js";

export type SuspensionStatus = "pending" | "approved" | "rejected" | "submitted" | "skipped" | "expired";

/** How a question may be answered. */
export type SuspendAction = "approve" | "reject" | "submit" | "skip";

/** The result of `ctx.suspend` for a skipped question. */
export declare const SUSPENSION_SKIPPED: unique symbol;

/** The result of `ctx.suspend`: the data of the answer, or `SUSPENSION_SKIPPED` if the question may be skipped. */
export type SuspendAnswer<T, A extends SuspendAction> = "skip" extends A ? T | typeof SUSPENSION_SKIPPED : T;

export interface SuspendOptions<T = any, A extends SuspendAction = SuspendAction> {
  /** Why the run waits, for example `human_approval`. With `human_input`, `allow` is `["submit"]` by default. */
  reason: string;
  /** The question for the person who answers. */
  message?: string;
  data?: Record<string, unknown>;
  /**
   * Default: `approve` and `reject`, with a `resumeSchema` also `submit`; for the reason `human_input` only
   * `submit`.
   */
  allow?: readonly A[];
  /** The schema of the data of `approve` or `submit`. The window shows it as a form. */
  resumeSchema?: Schema<T, any> | { [key: string]: JsonValue };
  /** After this long without an answer, the call fails with `SuspensionTimeoutError`. */
  timeoutMs?: number;
  /** How a client of your own may show the question. */
  render?: { component: string; props?: Record<string, unknown> };
}

/** Thrown to stop a run until it is answered. It is control flow, not a failure, and no `rescue` can handle it. */
export declare class SuspensionError extends Error {
  constructor(options: SuspendOptions & { suspensionId: string });
  readonly suspensionId: string;
  readonly reason: string;
  readonly data?: Record<string, unknown>;
  readonly resumeSchema?: Record<string, unknown>;
  readonly render?: { component: string; props?: Record<string, unknown> };
  readonly timeoutMs?: number;
}

/** The answer to a suspension was `reject`. Unlike `SuspensionError`, a `rescue` can handle it. */
export declare class SuspensionRejectedError extends Error {
  constructor(suspensionId: string, rejectedBy?: string, rejectionData?: unknown);
  readonly suspensionId: string;
  readonly rejectedBy?: string;
  readonly rejectionData?: unknown;
}

/** A suspension was not answered in time. A `rescue` can handle it. */
export declare class SuspensionTimeoutError extends Error {
  constructor(suspensionId: string);
  readonly suspensionId: string;
}
