// Promises that failed while nobody waited for them: an author forgot an `await`.
//
// A promise may be waited for later than it fails, so a block is asked only when it has ended.

import { recentToken } from './host';
import { encodeError } from './thrown';

const failed = new Map<unknown, { token: number; reason: unknown }>();

/** Called by Rust when a promise is rejected with nobody waiting, and when somebody comes after all. */
export function rejection(promise: unknown, reason: unknown, handled: boolean): void {
  if (handled) failed.delete(promise);
  else failed.set(promise, { token: recentToken(), reason });
}

/** The failures of a block that nobody waited for, as a list of errors; each is told once. */
export function unhandled(token: number): string {
  const told: string[] = [];
  for (const [promise, one] of failed) {
    if (one.token !== token) continue;
    failed.delete(promise);
    told.push(encodeError(one.reason));
  }
  return `[${told.join(',')}]`;
}
