/**
 * The errors a flow can throw, catch with `rescue`, or find at the end of a failed run.
 *
 * `when: [SomeError]` compares class names along the prototype chain, so a recorded failure still matches after a resume.
 */

import type { JsonValue, Schema } from "./schema.js";

export type FlowErrorScope = "request" | "work" | "sideChain" | "resource" | "block";

export interface FlowErrorOptions {
  /** A short, stable word that programs may branch on. */
  code?: string;
  /** Whether `retry` may try again. False unless you say otherwise. */
  retryable?: boolean;
  details?: Record<string, unknown>;
  cause?: unknown;
  /** The engine fills in the next three when it records a failure. */
  blockName?: string;
  blockInstanceId?: string;
  scope?: FlowErrorScope;
}

/** Throw this to fail a block with a code and details that the debugger shows beside the message. */
export declare class FlowError extends Error {
  constructor(message: string, options?: FlowErrorOptions);
  readonly code?: string;
  readonly retryable: boolean;
  readonly details?: Record<string, unknown>;
  override readonly cause?: unknown;
  readonly blockName?: string;
  readonly blockInstanceId?: string;
  readonly scope?: FlowErrorScope;
  /** Recognises a `FlowError` from a second copy of this module, too. */
  static isInstance(error: unknown): error is FlowError;
}

/** A value broke the schema it is declared with: an action's input, or a write to a scope or resource. */
export declare class ValidationError extends FlowError {}

/** A generator's reply does not fit its `outputSchema`, after repair. */
export declare class OutputValidationError extends FlowError {}

/** A sequencer's last value does not fit its declared `outputSchema`. */
export declare class SequencerOutputSchemaError extends FlowError {}

/** `.validate()` found that the chain cannot produce the declared output. */
export declare class SequencerSchemaMismatchError extends FlowError {}

/** Two declarations of one state field, or of one resource, cannot both hold. Raised when the flow loads. */
export declare class SchemaConflictError extends FlowError {}

/** A generator's `outputSchema` cannot be expressed in the strict form that models accept. */
export declare class StrictSchemaError extends FlowError {}

/** Two enclosing blocks share the name that `getTarget` was asked for. */
export declare class AmbiguousBlockNameError extends FlowError {}

/** Other requests kept winning the race for a session, user or project record. */
export declare class ConcurrentModificationError extends FlowError {
  readonly attempts: number;
}

/** A write waited longer for its turn than `request.mutationTimeoutMs` allows. */
export declare class ScopeMutationTimeoutError extends Error {
  readonly code: string;
  readonly timeoutMs: number;
}

/** A resumed router picks another route than the recorded one. */
export declare class RouteUnavailableError extends FlowError {}

/** A resumed run finds another block at a recorded path. */
export declare class ReplayDriftError extends FlowError {}

export declare class NetworkError extends FlowError {}
export declare class TimeoutError extends FlowError {}
export declare class RateLimitError extends FlowError {}
export declare class ModelError extends FlowError {}
export declare class ProviderUnavailableError extends FlowError {}
export declare class ContextLengthError extends FlowError {}
export declare class ToolExecutionError extends FlowError {}
export declare class ResourceDeletedError extends FlowError {}
export declare class ResourceAlreadyExistsError extends FlowError {}

export interface SuspendOptions<T = any> {
  /** Why the run waits, for example `approval`. */
  reason: string;
  message?: string;
  data?: Record<string, unknown>;
  /** The shape of the answer. The debugger makes a form from it. */
  resumeSchema?: Schema<T, any> | { [key: string]: JsonValue };
  timeoutMs?: number;
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

/** Nobody answered a suspension in time. */
export declare class SuspensionTimeoutError extends Error {
  constructor(suspensionId: string);
  readonly suspensionId: string;
}
