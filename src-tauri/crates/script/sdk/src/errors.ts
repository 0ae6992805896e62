// The error classes flows can throw and catch, and errors on their way to and from the engine.

import { wire as toWire } from './host';

export class FlowError extends Error {
  code?: string;
  retryable: boolean;
  details?: unknown;
  blockName?: string;
  blockInstanceId?: string;
  scope?: string;

  constructor(message: string, options: Partial<FlowError> & { cause?: unknown } = {}) {
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

  static isInstance(value: unknown): value is FlowError {
    return value instanceof FlowError || (value instanceof Error && value.name === 'FlowError');
  }
}

export class ValidationError extends FlowError {
  constructor(message: string, options: Partial<FlowError> = {}) {
    super(message, { code: 'validation_error', ...options });
    this.name = 'ValidationError';
  }
}

export class ConcurrentModificationError extends FlowError {
  constructor(message = 'State update failed due to concurrent modifications', options: Partial<FlowError> = {}) {
    super(message, { code: 'concurrent_modification', retryable: true, ...options });
    this.name = 'ConcurrentModificationError';
  }
}

export class SequencerOutputSchemaError extends FlowError {
  constructor(message: string, options: Partial<FlowError> = {}) {
    super(message, { code: 'sequencer_output_schema_error', ...options });
    this.name = 'SequencerOutputSchemaError';
  }
}

export class ResourceAlreadyExistsError extends FlowError {
  constructor(message: string, options: Partial<FlowError> = {}) {
    super(message, { code: 'resource_already_exists', ...options });
    this.name = 'ResourceAlreadyExistsError';
  }
}

export class ResourceDeletedError extends FlowError {
  constructor(message: string, options: Partial<FlowError> = {}) {
    super(message, { code: 'resource_deleted', ...options });
    this.name = 'ResourceDeletedError';
  }
}

class LimitError extends FlowError {
  constructor(message: string) {
    super(message, { code: 'limit_exceeded' });
    this.name = 'LimitError';
  }
}

export class SuspensionError extends Error {
  override name = 'SuspensionError';
}

const classes: Record<string, new (message: string, options: Partial<FlowError>) => Error> = {
  FlowError,
  ValidationError,
  ConcurrentModificationError,
  SequencerOutputSchemaError,
  ResourceAlreadyExistsError,
  ResourceDeletedError,
};

// Ten frames, the default, are used up by the promise machinery around an author's line.
(Error as unknown as { stackTraceLimit: number }).stackTraceLimit = 40;

/** Thrown objects that went to the engine, so that a rescue or hook gets the very same object. */
const thrown = new Map<number, unknown>();
let nextHandle = 1;

interface Wire {
  name: string;
  message: string;
  code?: string;
  retryable?: boolean;
  details?: unknown;
  stack?: string;
  classes: string[];
  handle?: number;
}

/** What was thrown, as the engine records it (core-semantics §2.3, step 9). */
export function encodeError(value: unknown): string {
  const handle = nextHandle++;
  let error: Error;
  if (value instanceof Error) error = value;
  else if (typeof value === 'string' && value !== '') error = new Error(value);
  // QuickJS throws null when not even an error object can be made any more.
  else if (value === null) error = new LimitError('used more memory than limits.memoryMb allows, or threw null itself');
  else error = new Error('Unknown block execution error');
  thrown.set(handle, error);
  const flow = error as FlowError;
  const wire: Wire = {
    name: error.name !== 'Error' ? error.name : (error.constructor?.name ?? 'Error'),
    message: String(error.message),
    classes: classNames(error),
    handle,
  };
  if (typeof flow.code === 'string') wire.code = flow.code;
  if (flow.retryable === true) wire.retryable = true;
  const details = detailsOf(error);
  if (details !== undefined) wire.details = details;
  if (typeof error.stack === 'string') wire.stack = error.stack;
  try {
    return toWire(wire);
  } catch {
    delete wire.details;
    return toWire(wire);
  }
}

/** An error of the engine, or one that was here before, as an object to throw or to hand over. */
export function decodeError(json: string): Error {
  return reviveError(JSON.parse(json) as Wire);
}

export function reviveError(wire: Wire): Error {
  if (wire.handle !== undefined && thrown.has(wire.handle)) return thrown.get(wire.handle) as Error;
  const known = wire.classes.map((name) => classes[name]).find((found) => found !== undefined);
  const options: Partial<FlowError> = {};
  if (wire.code !== undefined) options.code = wire.code;
  if (wire.retryable !== undefined) options.retryable = wire.retryable;
  if (wire.details !== undefined) options.details = wire.details;
  const error = known ? new known(wire.message, options) : new Error(wire.message);
  error.name = wire.name;
  // Where it was made says nothing; who asked for what failed may put its own place here.
  error.stack = '';
  if (!known && wire.code !== undefined) (error as FlowError).code = wire.code;
  return error;
}

function classNames(error: Error): string[] {
  const names: string[] = [];
  let prototype: object | null = Object.getPrototypeOf(error) as object | null;
  while (prototype && prototype !== Object.prototype) {
    const name = (prototype.constructor as { name?: string } | undefined)?.name;
    if (name) names.push(name);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  if (error.name && !names.includes(error.name)) names.unshift(error.name);
  return names;
}

function detailsOf(error: Error): unknown {
  const { details, cause } = error as FlowError & { cause?: unknown };
  if (cause === undefined) return details;
  const chain = cause instanceof Error ? { name: cause.name, message: cause.message } : { message: String(cause) };
  return { ...(typeof details === 'object' && details !== null ? details : {}), cause: chain };
}
