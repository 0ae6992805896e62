// node:util: `inspect` and `format` of the package `node-inspect-extracted`, which are Node's own, and the rest.

import inspected from 'node-inspect-extracted';
import { Decoder as TextDecoder, Encoder as TextEncoder } from '../globals/web';
import { isDeepEqual } from './equality';
import types from './util/types';

export const { inspect, format, formatWithOptions, stripVTControlCharacters } = inspected;

type Fn = (...args: unknown[]) => unknown;
const CUSTOM = Symbol.for('nodejs.util.promisify.custom');

function needFunction(given: unknown, what: string): Fn {
  if (typeof given !== 'function') throw new TypeError(`${what} needs a function, not ${typeof given}`);
  return given as Fn;
}

/** A function that answers by a callback, as one that answers by a promise. */
export function promisify(given: unknown): Fn {
  const original = needFunction(given, 'promisify');
  const own = (original as unknown as Record<symbol, unknown>)[CUSTOM];
  if (own !== undefined) return needFunction(own, 'util.promisify.custom');
  const promised = function (this: unknown, ...args: unknown[]) {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, value: unknown) => (error ? reject(error as Error) : resolve(value));
      Reflect.apply(original, this, [...args, done]);
    });
  };
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original)) as Fn;
}
promisify.custom = CUSTOM;

/** The other way round. */
export function callbackify(given: unknown): Fn {
  const original = needFunction(given, 'callbackify') as (...args: unknown[]) => Promise<unknown>;
  return function (this: unknown, ...args: unknown[]) {
    const done = needFunction(args.pop(), 'the last argument of a function of callbackify');
    Reflect.apply(original, this, args).then(
      (value) => done(null, value),
      (error: unknown) => done(error ?? new Error('the promise was rejected with nothing')),
    );
  };
}

export function inherits(child: unknown, parent: unknown): void {
  const [own, above] = [needFunction(child, 'inherits'), needFunction(parent, 'inherits')];
  Object.defineProperty(own, 'super_', { value: above, writable: true, configurable: true });
  Object.setPrototypeOf(own.prototype as object, above.prototype as object);
}

/** Warns once, at the first call. */
export function deprecate<F>(given: F, message: string): F {
  const original = needFunction(given, 'deprecate');
  let isTold = false;
  return function (this: unknown, ...args: unknown[]) {
    if (!isTold) console.warn(`deprecated: ${message}`);
    isTold = true;
    return Reflect.apply(original, this, args);
  } as F;
}

/** Nobody turns debugging of a part on. */
export function debuglog(_part?: string): Fn & { enabled: boolean } {
  return Object.assign(() => undefined, { enabled: false });
}

export const isDeepStrictEqual = (one: unknown, other: unknown): boolean => isDeepEqual(one, other);
export const isArray = (value: unknown): boolean => Array.isArray(value);

declare const console: { warn(text: string): void };

export { TextDecoder, TextEncoder, types };
export default {
  TextDecoder,
  TextEncoder,
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  formatWithOptions,
  inherits,
  inspect,
  isArray,
  isDeepStrictEqual,
  promisify,
  stripVTControlCharacters,
  types,
};
