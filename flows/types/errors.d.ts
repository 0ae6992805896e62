/**
 * The errors a flow can throw, catch with `rescue`, or find at the end of a failed run.
 *
 * `when: [SomeError]` compares class names along the prototype chain, so a recorded failure still matches after a resume.
 * Failures of models, tools and stores are in `failures.d.ts`, refusals of a flow in `refusals.d.ts`.
 */

export type FlowErrorScope = "request" | "work" | "sideChain" | "resource" | "block";

export interface FlowErrorOptions {
  /** A short, stable word that programs may branch on. */
  code?: string;
  /** Whether `retry` may try again (default false). */
  retryable?: boolean;
  details?: Record<string, unknown>;
  cause?: unknown;
  /** The engine fills in the next three when it records a failure. */
  blockName?: string;
  blockInstanceId?: string;
  scope?: FlowErrorScope;
}

/** Throw this to fail a block with a code and details, which the debugger shows with the message. */
export declare class FlowError extends Error {
  constructor(message: string, options?: FlowErrorOptions);
  readonly code?: string;
  readonly retryable: boolean;
  readonly details?: Record<string, unknown>;
  override readonly cause?: unknown;
  readonly blockName?: string;
  readonly blockInstanceId?: string;
  readonly scope?: FlowErrorScope;
  /** Also recognizes a `FlowError` from another copy of this module. */
  static isInstance(error: unknown): error is FlowError;
}

/** One reason why a value does not fit a schema. */
export interface SchemaIssue {
  /** Such as `facts.0.text`; empty for the value as a whole. */
  path: string;
  message: string;
}

/** A value broke the schema it is declared with: an action's input, or a write to a scope or resource. */
export declare class ValidationError extends FlowError {}

/** A generator's reply does not fit its `outputSchema`, after repair. */
export declare class OutputValidationError extends FlowError {
  readonly details?: { rawOutput: unknown; issues: SchemaIssue[]; phase: "stream" | "final" };
}

/** A sequencer's last value does not fit its declared `outputSchema`. The sequencer's own `rescue` comes before this. */
export declare class SequencerOutputSchemaError extends FlowError {
  readonly details?: { sequencerName: string; lastStepName: string; rawOutput: unknown; issues: SchemaIssue[] };
}

/** `.validate()` found that the chain cannot produce the declared output. */
export declare class SequencerSchemaMismatchError extends FlowError {
  readonly details?: { sequencerName: string; declaredKind: string; inferredKind: string; reason: string };
}

/** Two declarations of one state field or resource contradict each other. Thrown when the flow loads. */
export declare class SchemaConflictError extends FlowError {}

/** A generator's `outputSchema` cannot be expressed in the strict form that models accept. */
export declare class StrictSchemaError extends FlowError {}

/** Two enclosing blocks share the name that `getTarget` was asked for. */
export declare class AmbiguousBlockNameError extends FlowError {}
