// The globals a flow may use; each goes through the engine, so that it is recorded with its block.
//
// Must not: offer anything that cannot be answered again from the log. There is no file system and
// no process.

import { ask, currentToken, native, runAs, wire } from './host';
import { inspect } from './inspect';

function print(level: string) {
  return (...parts: unknown[]) => {
    native.sync('log', currentToken(), wire([level, parts.map(inspect).join(' ')]));
  };
}

const console = {
  log: print('log'),
  info: print('info'),
  warn: print('warn'),
  error: print('error'),
  debug: print('debug'),
  trace: print('debug'),
  assert: (holds?: unknown, ...parts: unknown[]) => {
    if (!holds) print('error')(parts.length > 0 ? 'Assertion failed:' : 'Assertion failed', ...parts);
  },
};

function now(): number {
  return Number(native.sync('now', currentToken(), ''));
}

const PlainDate = Date;
const RecordedDate = new Proxy(PlainDate, {
  construct(target, args, derived) {
    return Reflect.construct(target, args.length === 0 ? [now()] : args, derived) as object;
  },
  apply() {
    return new PlainDate(now()).toString();
  },
  get(target, key) {
    return key === 'now' ? now : Reflect.get(target, key);
  },
});

Math.random = () => Number(native.sync('random', currentToken(), ''));

let nextTimer = 1;
const timers = new Map<number, boolean>();

function setTimer(callback: (...args: unknown[]) => void, delay: number, repeats: boolean, args: unknown[]): number {
  const id = nextTimer++;
  const token = currentToken();
  timers.set(id, true);
  const wait = (): void => {
    void ask(token, 'sleep', Math.max(0, Number(delay) || 0)).then(() => {
      if (!timers.has(id)) return;
      if (!repeats) timers.delete(id);
      runAs(token, () => callback(...args));
      if (repeats && timers.has(id)) wait();
    });
  };
  wait();
  return id;
}

function clearTimer(id?: number): void {
  if (id !== undefined) timers.delete(id);
}

function structuredCloneOf<T>(value: T): T {
  const seen = new Map<unknown, unknown>();
  const copy = (original: unknown): unknown => {
    if (typeof original === 'function' || typeof original === 'symbol') {
      throw new TypeError(`structuredClone: ${typeof original} could not be cloned`);
    }
    if (typeof original !== 'object' || original === null) return original;
    if (seen.has(original)) return seen.get(original);
    if (original instanceof PlainDate) return new PlainDate(original.getTime());
    if (original instanceof Map) {
      const map = new Map();
      seen.set(original, map);
      original.forEach((v, k) => map.set(copy(k), copy(v)));
      return map;
    }
    if (original instanceof Set) {
      const set = new Set();
      seen.set(original, set);
      original.forEach((v) => set.add(copy(v)));
      return set;
    }
    if (ArrayBuffer.isView(original)) return (original as Uint8Array).slice();
    const target: Record<string, unknown> | unknown[] = Array.isArray(original) ? [] : {};
    seen.set(original, target);
    for (const key of Object.keys(original)) {
      (target as Record<string, unknown>)[key] = copy((original as Record<string, unknown>)[key]);
    }
    return target;
  };
  return copy(value) as T;
}

const crypto = {
  randomUUID: () => native.sync('uuid', currentToken(), '') as string,
  getRandomValues<T extends Uint8Array>(array: T): T {
    for (let at = 0; at < array.length; at++) array[at] = Math.floor(Math.random() * 256);
    return array;
  },
};

function microtask(callback: () => void): void {
  void Promise.resolve().then(callback);
}

Object.assign(globalThis, {
  console,
  Date: RecordedDate,
  setTimeout: (callback: () => void, delay = 0, ...args: unknown[]) => setTimer(callback, delay, false, args),
  setInterval: (callback: () => void, delay = 0, ...args: unknown[]) => setTimer(callback, delay, true, args),
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
  structuredClone: structuredCloneOf,
  queueMicrotask: microtask,
  crypto,
});
