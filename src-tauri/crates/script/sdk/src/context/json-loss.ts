// What a value loses where it takes JSON form (ARCHITECTURE §3.10): a warning in the log, once for each place.
//
// Must not: change the value, or refuse one. What JSON cannot hold at all is refused where it is written.

import { native, wire } from '../base/host';

/** Places that were warned of in this request. */
const told = new Set<string>();

/** Warns of the first part of a value that JSON form changes. `where` is the place that is written. */
export function warnOfLoss(token: number, where: string, value: unknown): void {
  const loss = lossIn(value, where, []);
  if (loss === undefined || told.has(loss)) return;
  told.add(loss);
  native.sync('log', token, wire(['warn', `${loss}: state keeps JSON`]));
}

function lossIn(value: unknown, path: string, around: object[]): string | undefined {
  if (typeof value !== 'object' || value === null || around.includes(value)) return undefined;
  const name = (value.constructor as { name?: unknown } | undefined)?.name;
  const named = typeof name === 'string' && name !== '' ? name : 'object of a class';
  if (value instanceof Date) return `${path} is a Date and is kept as a text`;
  if (ArrayBuffer.isView(value)) return `${path} is a ${named} and is kept as an object of numbers`;
  if (value instanceof ArrayBuffer) return `${path} is an ArrayBuffer and is kept as an empty object`;
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) {
    return `${path} is an instance of ${named} and is kept as a plain object`;
  }
  around.push(value);
  for (const [key, inner] of Object.entries(value)) {
    const loss = lossIn(inner, isList ? `${path}[${key}]` : `${path}.${key}`, around);
    if (loss !== undefined) return loss;
  }
  around.pop();
  return undefined;
}
