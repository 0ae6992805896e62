// node:timers/promises.

import { clearTimeout, setTimeout as setTimer } from '../timers';

interface Options {
  signal?: {
    aborted: boolean;
    reason: unknown;
    addEventListener(type: 'abort', listener: () => void): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  };
}

export function setTimeout<T>(delay = 1, value?: T, { signal }: Options = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const abort = (): void => {
      clearTimeout(id);
      reject(signal?.reason as Error);
    };
    const id = setTimer(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, delay);
    signal?.addEventListener('abort', abort);
  });
}

export const setImmediate = <T>(value?: T, options?: Options): Promise<T | undefined> => setTimeout(0, value, options);
export const scheduler = {
  wait: (delay: number, options?: Options): Promise<void> => setTimeout(delay, undefined, options),
  yield: (): Promise<void> => setTimeout(0, undefined),
};
export default { setTimeout, setImmediate, scheduler };
