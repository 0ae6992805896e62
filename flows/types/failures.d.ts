/**
 * Errors the engine throws while a flow runs: from models, tools, state and resources, and from a resume.
 */

import type { FlowError } from "./errors.js";

/** Other requests kept winning the race for a session, user or project record. May be retried. */
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
/** A provider wants fewer calls. May be retried. */
export declare class RateLimitError extends FlowError {}
/** A provider refused or failed in another way. May be retried. */
export declare class ModelError extends FlowError {}
/** A provider is down. May be retried. */
export declare class ProviderUnavailableError extends FlowError {}
/** The prompt is longer than the model can read. Trying again would not help. */
export declare class ContextLengthError extends FlowError {}
/** A tool failed. Its model is told, so a flow rarely sees this one. */
export declare class ToolExecutionError extends FlowError {}

/** A write to a resource that has been deleted meanwhile. */
export declare class ResourceDeletedError extends FlowError {
  readonly resourceKey: string;
}
/** `create` of a key that is taken. `getOrCreate` and `upsert` do not fail this way. */
export declare class ResourceAlreadyExistsError extends FlowError {
  readonly resourceKey: string;
}

/** A resumed router picks another route than the recorded one. */
export declare class RouteUnavailableError extends FlowError {}
/** A resumed run finds another block at a recorded path. */
export declare class ReplayDriftError extends FlowError {}
