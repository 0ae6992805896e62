// What lies under an error: its first cause, whether somebody stopped the work, and its JSON.

/** The last error of a chain of causes, or what an error names as its cause if that is no error. */
export function rootCause(error: unknown): unknown {
  const seen = new Set<unknown>();
  let at = error;
  while (at instanceof Error && at.cause !== undefined && !seen.has(at)) {
    seen.add(at);
    at = at.cause;
  }
  return at;
}

/** Whether the work was stopped, as an `AbortSignal` stops it. */
export function isAbortLike(error: unknown): boolean {
  const root = rootCause(error);
  if (!(root instanceof Error)) return false;
  const { code } = root as { code?: unknown };
  return root.name === 'AbortError' || code === 'ABORT_ERR' || code === 20;
}

export interface SerializedError {
  name: string;
  message: string;
  code?: string;
  cause?: SerializedError;
}

/** An error as JSON, with its causes down to `depth`. Stacks are left out. */
export function serializeError(error: unknown, depth = 4): SerializedError {
  if (depth < 0 || typeof error !== 'object' || error === null) return { name: 'Error', message: String(error) };
  const { name, message, code, cause } = error as {
    name?: unknown;
    message?: unknown;
    code?: unknown;
    cause?: unknown;
  };
  const told: SerializedError = {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : String(error),
  };
  if (typeof code === 'string') told.code = code;
  if (cause !== undefined && cause !== null) told.cause = serializeError(cause, depth - 1);
  return told;
}

/** The details of an error, with its cause among them where they hold none. */
export function errorDetailsWithCause(error: {
  details?: Record<string, unknown>;
  cause?: unknown;
}): Record<string, unknown> | undefined {
  const { details, cause } = error;
  if (cause === undefined || cause === null || details?.cause !== undefined) return details;
  return { ...details, cause: serializeError(cause) };
}

/** Anything that was thrown, as an error. */
export function toError(value: unknown, fallback = 'Unknown block execution error'): Error {
  if (value instanceof Error) return value;
  return new Error(typeof value === 'string' && value !== '' ? value : fallback);
}
