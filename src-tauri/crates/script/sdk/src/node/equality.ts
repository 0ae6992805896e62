// Whether two values are deeply equal, as node:assert and node:util say it.

import types from './util/types';

/** Pairs that are being compared: objects may contain themselves. */
type Pairs = Map<unknown, Set<unknown>>;

/** By their values, classes and own properties; `loose` compares as `==` does, and leaves classes aside. */
export function isDeepEqual(one: unknown, other: unknown, loose = false, pairs: Pairs = new Map()): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    if (!loose) return false;
    // oxlint-disable-next-line eqeqeq -- that is what the legacy comparison is
    return one == other || (one !== one && other !== other);
  }
  if (!loose && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (Object.prototype.toString.call(one) !== Object.prototype.toString.call(other)) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const known = pairs.get(one) ?? new Set();
  if (known.has(other)) return true;
  known.add(other);
  pairs.set(one, known);
  const same = (a: unknown, b: unknown) => isDeepEqual(a, b, loose, pairs);
  return isSameInside(one, other, same) && hasSameProperties(one, other, loose, same);
}

type Same = (a: unknown, b: unknown) => boolean;

/** What objects of the runtime hold besides properties. */
function isSameInside(one: object, other: object, same: Same): boolean {
  if (types.isDate(one)) return Object.is(Number(one), Number(other));
  if (types.isRegExp(one)) return String(one) === String(other) && lastIndex(one) === lastIndex(other);
  if (types.isBoxedPrimitive(one)) return Object.is((one as Date).valueOf(), (other as Date).valueOf());
  if (one instanceof Error) {
    const [a, b] = [one, other as Error];
    return a.message === b.message && a.name === b.name && same(a.cause, b.cause);
  }
  if (one instanceof Set) {
    const rest = [...(other as Set<unknown>)];
    if (one.size !== rest.length) return false;
    return [...one].every((value) => takeOut(rest, (left) => same(value, left)));
  }
  if (one instanceof Map) {
    const rest = [...(other as Map<unknown, unknown>)];
    if (one.size !== rest.length) return false;
    return [...one].every(([key, value]) => takeOut(rest, (left) => same(key, left[0]) && same(value, left[1])));
  }
  if (one instanceof ArrayBuffer) return same(new Uint8Array(one), new Uint8Array(other as ArrayBuffer));
  if (one instanceof Promise || one instanceof WeakMap || one instanceof WeakSet) return false;
  return true;
}

function lastIndex(pattern: object): number {
  return (pattern as RegExp).lastIndex;
}

/** Removes the first that fits. Returns whether there was one. */
function takeOut<T>(rest: T[], fits: (left: T) => boolean): boolean {
  const at = rest.findIndex(fits);
  if (at >= 0) rest.splice(at, 1);
  return at >= 0;
}

function hasSameProperties(one: object, other: object, loose: boolean, same: Same): boolean {
  const keys = (of: object): (string | symbol)[] => {
    const symbols = loose ? [] : Object.getOwnPropertySymbols(of);
    return [...Object.keys(of), ...symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(of, key))];
  };
  const [own, others] = [keys(one), new Set(keys(other))];
  if (own.length !== others.size) return false;
  if (Array.isArray(one) && one.length !== (other as unknown[]).length) return false;
  return own.every((key) => others.has(key) && same(Reflect.get(one, key), Reflect.get(other, key)));
}
