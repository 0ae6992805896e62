// node:timers: the timers that a flow finds without importing them.

type Timer = (callback: (...args: unknown[]) => void, delay?: number, ...args: unknown[]) => number;
interface Timers {
  setTimeout: Timer;
  setInterval: Timer;
  clearTimeout(id?: number): void;
  clearInterval(id?: number): void;
  setImmediate(callback: (...args: unknown[]) => void, ...args: unknown[]): number;
  clearImmediate(id?: number): void;
}

const known = globalThis as unknown as Timers;
export const { setTimeout, setInterval, clearTimeout, clearInterval, setImmediate, clearImmediate } = known;
export default { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
