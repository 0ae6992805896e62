// The globals a flow may use; each goes through the engine, so that it is recorded with its block.
//
// Must not: offer anything that cannot be answered again from the log. There is no file system and
// no process.

import { bytesOf, fromBase64 } from '../base/bytes';
import { ask, currentCode, currentToken, LOAD, native, runAs } from '../base/host';
import { console } from './console';
import { localToRun } from './local-time';
import { domError, structuredCloneOf } from './structured-clone';
import { requestSignal } from './web';

function now(): number {
  // A look at the precise clock may stand at this place of an older record.
  return Math.floor(Number(native.sync('now', currentToken(), '')));
}

/** Where `performance` counts from: its first look at the clock, which belongs to no block. */
let origin: number | undefined;
/** What `performance.now` said last. */
let latest = 0;

function timeOrigin(): number {
  return (origin ??= Number(native.sync('clock', LOAD, '')));
}

const performance = {
  now(): number {
    const since = timeOrigin();
    const passed = Math.round((Number(native.sync('clock', currentToken(), '')) - since) * 1000) / 1000;
    return (latest = Math.max(latest, passed));
  },
  get timeOrigin(): number {
    return timeOrigin();
  },
  toJSON: () => ({ timeOrigin: timeOrigin() }),
};

const PlainDate = Date;
const localTime = localToRun(PlainDate);
const RecordedDate = new Proxy(PlainDate, {
  construct(target, args: unknown[], derived) {
    const time = args.length === 0 ? now() : localTime(args);
    return Reflect.construct(target, time === undefined ? args : [time], derived) as object;
  },
  apply() {
    return new PlainDate(now()).toString();
  },
});
// On the class itself, and not in a trap: what is made unchangeable there must be what the trap answers.
Object.defineProperty(PlainDate, 'now', { value: now, writable: true, configurable: true });
// `new date.constructor()` is recorded as well.
Object.defineProperty(PlainDate.prototype, 'constructor', { value: RecordedDate, writable: true, configurable: true });

Math.random = () => Number(native.sync('random', currentToken(), ''));

/** The timers of one owner: the number of the newest, and what clears each of those that have not ended. */
interface Timers {
  newest: number;
  pending: Map<number, () => void>;
}
const timersOf = new Map<number, Timers>();
let areTimersApart = false;

/**
 * From here on whoever runs has timers of its own: an Activity can neither end those of others, nor tell from the number
 * of a new one how many they have.
 */
export function keepTimersApart(): void {
  areTimersApart = true;
}

function ownTimers(): Timers {
  const owner = areTimersApart ? currentToken() : LOAD;
  let own = timersOf.get(owner);
  if (!own) timersOf.set(owner, (own = { newest: 0, pending: new Map() }));
  return own;
}

function setTimer(callback: (...args: unknown[]) => void, delay: number, repeats: boolean, args: unknown[]): number {
  const own = ownTimers();
  const id = ++own.newest;
  if (requestSignal.aborted) {
    console.warn('a timer was dropped, because the request was aborted and waits for nothing');
    return id;
  }
  const token = currentToken();
  const code = currentCode();
  const wait = (): void => {
    // The engine must not wait for a timer that was cleared: a request that waits for nothing else suspends.
    const began = (clear: () => void): void => void own.pending.set(id, clear);
    void ask(token, 'sleep', Math.max(0, Number(delay) || 0), began).then(() => {
      if (!own.pending.has(id)) return;
      if (!repeats) own.pending.delete(id);
      runAs(code, () => callback(...args));
      if (repeats && own.pending.has(id)) wait();
    });
  };
  wait();
  return id;
}

function clearTimer(id?: number): void {
  if (id === undefined) return;
  const { pending } = ownTimers();
  const clear = pending.get(id);
  pending.delete(id);
  clear?.();
}

/** The arrays that chance can fill: any bits of theirs are a value. */
const INTEGERS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
];
/** As the standard says. */
const MOST_RANDOM = 65_536;

const crypto = {
  randomUUID: () => native.sync('uuid', currentToken(), '') as string,
  getRandomValues<T extends ArrayBufferView>(array: T): T {
    if (!INTEGERS.some((kind) => array instanceof kind)) {
      throw domError('TypeMismatchError', 'crypto.getRandomValues needs a typed array of integers');
    }
    const bytes = bytesOf(array) as Uint8Array;
    if (bytes.length > MOST_RANDOM) {
      const asked = `crypto.getRandomValues fills at most ${MOST_RANDOM} bytes at once, not ${bytes.length}`;
      throw domError('QuotaExceededError', asked);
    }
    if (bytes.length > 0) bytes.set(fromBase64(native.sync('bytes', currentToken(), String(bytes.length)) as string));
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
  setImmediate: (callback: () => void, ...args: unknown[]) => setTimer(callback, 0, false, args),
  clearImmediate: clearTimer,
  structuredClone: structuredCloneOf,
  queueMicrotask: microtask,
  crypto,
});
// The runtime's own would not be recorded.
Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true, writable: true });
