// The error classes that flows can throw and catch (SEMANTICS §5.5).

/** A browser's class of errors, which no other one inherits from. */
export const { DOMException } = globalThis as unknown as {
  DOMException: new (message: string, name?: string) => Error;
};

type Options = Partial<FlowError> & { cause?: unknown };

export class FlowError extends Error {
  code?: string;
  retryable: boolean;
  details?: unknown;
  blockName?: string;
  blockInstanceId?: string;
  scope?: string;

  constructor(message: string, options: Options = {}) {
    super(message);
    this.name = 'FlowError';
    this.retryable = options.retryable ?? false;
    if (options.code !== undefined) this.code = options.code;
    if (options.details !== undefined) this.details = options.details;
    if (options.cause !== undefined) this.cause = options.cause;
    if (options.blockName !== undefined) this.blockName = options.blockName;
    if (options.blockInstanceId !== undefined) this.blockInstanceId = options.blockInstanceId;
    if (options.scope !== undefined) this.scope = options.scope;
  }

  /** Recognises a `FlowError` of another copy of this module too, by its class's name. */
  static isInstance(value: unknown): value is FlowError {
    return value instanceof FlowError || (value instanceof Error && classNames(value).includes('FlowError'));
  }
}

type FlowErrorClass = new (message: string, options?: Options) => FlowError;

/** A class that differs from `FlowError` in its name, its code, and whether trying again can help. */
export function kind(name: string, code: string, retryable = false): FlowErrorClass {
  const made = class extends FlowError {
    constructor(message: string, options: Options = {}) {
      super(message, { code, retryable, ...options });
      this.name = name;
    }
  };
  Object.defineProperty(made, 'name', { value: name });
  return made;
}

export const ValidationError = kind('ValidationError', 'validation_error');
export const OutputValidationError = kind('OutputValidationError', 'output_validation_error');
export const SequencerOutputSchemaError = kind('SequencerOutputSchemaError', 'sequencer_output_schema_error');
export const SequencerSchemaMismatchError = kind('SequencerSchemaMismatchError', 'sequencer_schema_mismatch_error');
export const SchemaConflictError = kind('SchemaConflictError', 'schema_conflict');
export const FlowIdentityConflictError = kind('FlowIdentityConflictError', 'flow_identity_conflict');
export const StrictSchemaError = kind('StrictSchemaError', 'strict_schema_error');
export const AmbiguousBlockNameError = kind('AmbiguousBlockNameError', 'ambiguous_block_name');
export const RouteUnavailableError = kind('RouteUnavailableError', 'route_unavailable');
export const ReplayDriftError = kind('ReplayDriftError', 'replay_drift');
export const NetworkError = kind('NetworkError', 'network_error', true);
export const TimeoutError = kind('TimeoutError', 'timeout_error', true);
export const RateLimitError = kind('RateLimitError', 'rate_limit_error', true);
export const ModelError = kind('ModelError', 'model_error', true);
export const ProviderUnavailableError = kind('ProviderUnavailableError', 'provider_unavailable_error', true);
export const ContextLengthError = kind('ContextLengthError', 'context_length_error');
export const ToolExecutionError = kind('ToolExecutionError', 'tool_execution_error');

/** One of the details as a property of the error. */
function detail(error: FlowError, name: string): void {
  const value = (error.details as Record<string, unknown> | undefined)?.[name];
  if (value !== undefined) Object.defineProperty(error, name, { value, enumerable: true, configurable: true });
}

export class ConcurrentModificationError extends FlowError {
  declare readonly attempts: number;

  constructor(message = 'State update failed due to concurrent modifications', options: Options = {}) {
    super(message, { code: 'concurrent_modification', retryable: true, ...options });
    this.name = 'ConcurrentModificationError';
    detail(this, 'attempts');
  }
}

function resourceError(name: string, code: string): FlowErrorClass {
  const Base = kind(name, code);
  const made = class extends Base {
    constructor(message: string, options: Options = {}) {
      super(message, options);
      detail(this, 'resourceKey');
    }
  };
  Object.defineProperty(made, 'name', { value: name });
  return made;
}

export const ResourceAlreadyExistsError = resourceError('ResourceAlreadyExistsError', 'resource_already_exists');
export const ResourceDeletedError = resourceError('ResourceDeletedError', 'resource_deleted');

/** Not a `FlowError` (SEMANTICS §5.5). */
export class ScopeMutationTimeoutError extends Error {
  override name = 'ScopeMutationTimeoutError';
  readonly code = 'SCOPE_MUTATION_TIMEOUT';
  declare readonly details?: unknown;
  declare readonly timeoutMs: number;

  constructor(message: string, { details }: Options = {}) {
    super(message);
    if (details !== undefined) this.details = details;
    detail(this as unknown as FlowError, 'timeoutMs');
  }
}

export class LimitError extends FlowError {
  constructor(message: string) {
    super(message, { code: 'limit_exceeded' });
    this.name = 'LimitError';
  }
}

/** How a run stops to wait; the engine keeps it from every author's code (SEMANTICS §5.5). */
export class SuspensionError extends Error {
  override name = 'SuspensionError';
  declare readonly suspensionId?: string;
  declare readonly reason?: string;

  constructor(options: { suspensionId?: string; reason?: string } = {}) {
    super(`Flow suspended: ${options.reason ?? 'unknown'}`);
    Object.assign(this, options);
  }
}

/** The facts of an answered suspension: as arguments when it is made, as details when it comes from a log. */
abstract class Answered extends Error {
  declare readonly details: Record<string, unknown>;
  declare readonly suspensionId: string;

  constructor(message: string, name: string, facts: Record<string, unknown>) {
    super(message);
    this.name = name;
    Object.defineProperty(this, 'details', { value: facts, configurable: true });
    Object.assign(this, facts);
  }
}

/** Somebody said no. An ordinary error: a rescue can answer it. */
export class SuspensionRejectedError extends Answered {
  declare readonly rejectedBy?: string;
  declare readonly rejectionData?: unknown;

  constructor(id: string, by?: string | Recorded, data?: unknown) {
    const facts = recorded(by) ?? { suspensionId: id, rejectedBy: by, rejectionData: data };
    super(recorded(by) ? id : `Suspension ${id} was rejected`, 'SuspensionRejectedError', facts);
  }
}

/** Nobody answered in time. An ordinary error: a rescue can answer it. */
export class SuspensionTimeoutError extends Answered {
  constructor(id: string, from?: Recorded) {
    super(
      recorded(from) ? id : `Suspension ${id} timed out`,
      'SuspensionTimeoutError',
      recorded(from) ?? { suspensionId: id },
    );
  }
}

/** A dispatcher was told no, and nothing was started. `refused` is why, in a word. */
export class DispatchRefusedError extends Error {
  declare readonly code: string;
  declare readonly details: Record<string, unknown>;
  declare readonly blockName: string;
  declare readonly refused: string;
  declare readonly detail: string;

  constructor(block: string, address: { type: string; target: string } | Recorded, refused = '', detail = '') {
    const told = 'type' in address ? undefined : recorded(address);
    const to = address as { type: string; target: string };
    super(told ? block : `Block "${block}" could not dispatch to ${to.type}:"${to.target}": ${refused} — ${detail}`);
    this.name = 'DispatchRefusedError';
    const facts = told ?? { blockName: block, address, refused, detail };
    Object.defineProperty(this, 'details', { value: facts, configurable: true });
    Object.assign(this, facts, { code: 'dispatch-refused' });
  }
}

/** A block that dispatches where nothing could start another request; here something always can. */
export class NoDispatchSeamError extends Error {
  readonly code = 'no-dispatch-seam';

  constructor(block: string, from?: Recorded) {
    super(recorded(from) ? block : `Block "${block}" dispatches, and nothing here can start another request`);
    this.name = 'NoDispatchSeamError';
  }
}

/** Something needs what a host offers to the requests it runs; nothing here does. */
export class NoRequestHostError extends Error {
  readonly code = 'no-request-host';

  constructor(detail = 'This needs the host of a request, and there is none here') {
    super(detail);
    this.name = 'NoRequestHostError';
  }
}

/** How the engine hands back an error of its log: its words first, then this. */
interface Recorded {
  details?: Record<string, unknown>;
}

function recorded(given: unknown): Record<string, unknown> | undefined {
  return typeof given === 'object' && given !== null ? ((given as Recorded).details ?? {}) : undefined;
}

/** Class names from a prototype on, nearest first. */
export function chainOf(first: object | null): string[] {
  const names: string[] = [];
  let prototype = first;
  while (prototype && prototype !== Object.prototype) {
    const name: unknown = (prototype.constructor as { name?: unknown } | undefined)?.name;
    if (typeof name === 'string' && name !== '' && !names.includes(name)) names.push(name);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return names;
}

/** Class names along the prototype chain, nearest first, and before them what the error calls itself. */
export function classNames(error: Error): string[] {
  const names = chainOf(Object.getPrototypeOf(error) as object | null);
  const own = ownName(error);
  if (own && !names.includes(own)) names.unshift(own);
  return names;
}

/** What an error calls itself, where that can be read. */
function ownName(error: Error): string | undefined {
  try {
    return typeof error.name === 'string' ? error.name : undefined;
  } catch {
    return undefined;
  }
}
