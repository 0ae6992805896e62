/**
 * Errors the engine throws while a flow runs: from models, tools, state and resources, and from a resume.
 */

import type { FlowError } from "./errors.js";

/** Other requests changed a session, user or project record before each try of this write. May be retried. */
export declare class ConcurrentModificationError extends FlowError {
  /** How often the write was tried. */
  readonly attempts: number;
}

/** A write waited longer for its turn than `request.mutationTimeoutMs` allows. */
export declare class ScopeMutationTimeoutError extends Error {
  readonly code: "SCOPE_MUTATION_TIMEOUT";
  readonly timeoutMs: number;
}

/** The connection to a model failed. May be retried. */
export declare class NetworkError extends FlowError {}
/** A model took too long. May be retried. */
export declare class TimeoutError extends FlowError {}
/** A provider refused a call because there were too many. May be retried. */
export declare class RateLimitError extends FlowError {}
/** A provider refused or failed in another way. May be retried. */
export declare class ModelError extends FlowError {}
/** A provider is down. May be retried. */
export declare class ProviderUnavailableError extends FlowError {}
/** The prompt is longer than the model can read. A retry would not help. */
export declare class ContextLengthError extends FlowError {}
/** A tool failed. The error is passed to the model, so a flow rarely sees it. */
export declare class ToolExecutionError extends FlowError {}

/** A write to a resource that was deleted meanwhile. */
export declare class ResourceDeletedError extends FlowError {
  readonly resourceKey: string;
}
/** `create` of a key that exists. `getOrCreate` and `upsert` do not throw this error. */
export declare class ResourceAlreadyExistsError extends FlowError {
  readonly resourceKey: string;
}

/** A resumed router picks another route than the recorded one. */
export declare class RouteUnavailableError extends FlowError {}
/** A resumed run finds another block at a recorded path. */
export declare class ReplayDriftError extends FlowError {}
