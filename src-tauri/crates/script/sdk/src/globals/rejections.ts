// Promises that failed and that nobody waits for: a flow would lose such an error without a word.
//
// Must not: decide when a rejection counts as unhandled; Rust asks when every job has run.

import { encodeError } from '../base/thrown';
import { ownerOf } from '../base/host';

interface Rejection {
  token: number;
  reason: unknown;
}

const unhandled = new Map<object, Rejection>();

/** Told by the runtime: a promise failed without a handler, or it got one later. */
export function rejected(promise: object, reason: unknown, isHandled: boolean): void {
  if (isHandled) unhandled.delete(promise);
  else unhandled.set(promise, { token: ownerOf(promise), reason });
}

/** Those that nobody handled, with the block each belongs to; they are forgotten. */
export function takeUnhandled(): string {
  const taken = [...unhandled.values()].map(({ token, reason }) => `[${token},${encodeError(reason)}]`);
  unhandled.clear();
  return `[${taken.join(',')}]`;
}
