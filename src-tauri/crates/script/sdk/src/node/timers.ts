// node:timers: the timers that a flow finds without importing them.

type Timer = (callback: (...args: unknown[]) => void, delay?: number, ...args: unknown[]) => number;
interface Timers {
  setTimeout: Timer;
  setInterval: Timer;
  clearTimeout(id?: number): void;
  clearInterval(id?: number): void;
}

const known = globalThis as unknown as Timers;
export const { setTimeout, setInterval, clearTimeout, clearInterval } = known;
export const setImmediate = (callback: (...args: unknown[]) => void, ...args: unknown[]): number =>
  setTimeout(callback, 0, ...args);
export const clearImmediate = clearTimeout;
export default { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
