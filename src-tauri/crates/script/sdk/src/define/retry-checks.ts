// Whether a `retry` can be followed: of a block, and of the settings for tools.

import { describeValue, needFunction } from '../base/arguments';
import { knowClass } from '../base/restored-errors';
import type { Config } from './blocks';

/** Rejects a `retry` with an invalid number of attempts or an invalid delay. */
export function checkRetry(retry: unknown, where: string): void {
  if (typeof retry !== 'object' || retry === null || Array.isArray(retry)) {
    throw new TypeError(
      `${where} must be an object like { maxAttempts: 3, baseDelayMs: 100 }, got ${describeValue(retry)}`,
    );
  }
  const { maxAttempts, retryableErrors, ...delays } = retry as Config;
  if (maxAttempts !== undefined && (!Number.isInteger(maxAttempts) || (maxAttempts as number) < 1)) {
    throw new TypeError(`${where}.maxAttempts must be an integer of at least 1, got ${describeValue(maxAttempts)}`);
  }
  for (const key of ['baseDelayMs', 'maxDelayMs']) {
    const value = delays[key];
    const isEndless = value === Infinity && key === 'baseDelayMs';
    if (value !== undefined && (typeof value !== 'number' || !(value >= 0) || isEndless)) {
      throw new TypeError(`${where}.${key} must be a number of milliseconds, got ${describeValue(value)}`);
    }
  }
  if (retryableErrors === undefined) return;
  if (!Array.isArray(retryableErrors)) {
    throw new TypeError(
      `${where}.retryableErrors must be an array of error classes, got ${describeValue(retryableErrors)}`,
    );
  }
  retryableErrors.forEach((one, at) => {
    knowClass(needFunction(one, `${where}.retryableErrors[${at}] (an error class)`));
  });
}

/** The same of settings for tools: a flow's, or a generator's own. */
export function checkRetryOfTools(tools: unknown, where: string): void {
  const { defaults } = (tools ?? {}) as { defaults?: Config };
  const given = defaults?.retry;
  if (given !== undefined) checkRetry(given, `${where}.defaults.retry`);
}
