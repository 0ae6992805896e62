// Work that takes time, inside one handler: several at once with a limit, with a deadline, or as a change of a state.

import { describeValue } from '../base/arguments';

/**
 * `mapper` of each value, at most `maxConcurrency` of them at a time, in the order of the values. The first failure
 * fails the whole; those that run already go on, and nothing new begins.
 */
export async function mapLimit<T, R>(
  values: readonly T[],
  maxConcurrency: number | undefined,
  mapper: (value: T, index: number) => Promise<R> | R,
): Promise<R[]> {
  if (maxConcurrency !== undefined && Number.isNaN(Number(maxConcurrency))) {
    throw new TypeError(`mapLimit: maxConcurrency must be a number, got ${describeValue(maxConcurrency)}`);
  }
  const made: R[] = [];
  made.length = values.length;
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < values.length && !failed) {
      const at = next++;
      try {
        made[at] = await mapper(values[at] as T, at);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const most = Math.max(1, Math.min(maxConcurrency ?? values.length, values.length));
  await Promise.all(Array.from({ length: values.length === 0 ? 0 : most }, work));
  return made;
}

/** Fails where a promise takes longer. What it stands for goes on; `onTimeout` makes the error. */
export function withTimeout<T>(
  promise: Promise<T>,
  timeoutMs: number | undefined,
  label: string,
  onTimeout?: () => Error,
): Promise<T> {
  if (timeoutMs === undefined || !Number.isFinite(timeoutMs) || timeoutMs <= 0) return promise;
  return new Promise<T>((keep, fail) => {
    const timer = setTimeout(
      () => fail(onTimeout?.() ?? new Error(`${label} timed out after ${timeoutMs}ms`)),
      timeoutMs,
    );
    promise.then(
      (value) => {
        clearTimeout(timer);
        keep(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        fail(error as Error);
      },
    );
  });
}

type Updated<S, R> = { state: S; result: R };

/**
 * Runs a change whose function may be called more than once, and gives the `result` of the call that counted. `run`
 * gets the function that makes the next state.
 */
export async function withOutcome<S, R>(
  run: (updater: (state: S) => S | Promise<S>) => Promise<unknown>,
  updater: (state: S) => Updated<S, R> | Promise<Updated<S, R>>,
): Promise<R | undefined> {
  let result: R | undefined;
  await run((state) => {
    const made = updater(state);
    if (made instanceof Promise) {
      return made.then((one) => {
        result = one.result;
        return one.state;
      });
    }
    result = made.result;
    return made.state;
  });
  return result;
}

export function updateStateWith<S, R>(
  ref: { updateState(updater: (state: S) => S | Promise<S>): Promise<unknown> },
  updater: (state: S) => Updated<S, R> | Promise<Updated<S, R>>,
): Promise<R | undefined> {
  return withOutcome<S, R>((change) => ref.updateState(change), updater);
}
