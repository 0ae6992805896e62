// Values that leave an author's function take JSON normal form at once (ARCHITECTURE §3.10), so that a
// live run sees what a resumed one would: dates become text, `undefined` keys go, and what JSON
// cannot hold is an error that names its place.

import { ValidationError } from './errors';
import { sound, wire } from './host';

/** Deeper values are refused: no screen and no database column is helped by them. */
const DEEPEST = 1000;

/** The JSON of a value, or `undefined` for `undefined`. */
export function toJson(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  const top = typeof value;
  if (top === 'string' || top === 'boolean' || value === null) return wire(value);
  hasNegativeZero = false;
  if (!isFlat(value)) check(value, what, '', []);
  return hasNegativeZero ? withNegativeZeros(value) : wire(value);
}

/** Whether the value that is looked at holds a zero below zero, which `JSON.stringify` takes for the other. */
let hasNegativeZero = false;

function isNegativeZero(value: unknown): boolean {
  return value === 0 && 1 / value < 0;
}

function withNegativeZeros(value: unknown): string {
  const plain = wire(value);
  let mark = '-0';
  while (plain.includes(mark)) mark += '0';
  const marked = JSON.stringify(value, (_key, inner: unknown) => (isNegativeZero(inner) ? mark : inner));
  return sound(marked).split(`"${mark}"`).join('-0');
}

/** Whether nothing in a value needs a closer look: a number, or a plain object of texts, numbers and truths. */
function isFlat(value: unknown): boolean {
  if (typeof value === 'number') {
    hasNegativeZero ||= isNegativeZero(value);
    return Number.isFinite(value);
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value as object) {
    const item = (value as Record<string, unknown>)[key];
    const kind = typeof item;
    if (kind === 'number' ? !Number.isFinite(item) : kind !== 'string' && kind !== 'boolean') return false;
    if (item === 0) hasNegativeZero ||= isNegativeZero(item);
  }
  return true;
}

/** `isMade`: the value is what a `toJSON` gave, so that it is not asked for one. */
function check(value: unknown, what: string, path: string, around: object[], isMade = false): void {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) refuse(what, path, `${value} is not a JSON number`);
      hasNegativeZero ||= isNegativeZero(value);
      return;
    case 'function':
      return refuse(what, path, `a function (${value.name || 'anonymous'}) cannot be stored`);
    case 'symbol':
    case 'bigint':
      return refuse(what, path, `a ${typeof value} cannot be stored`);
    case 'object':
      break;
    default:
      return;
  }
  if (value === null) return;
  const object = value as object;
  if (around.includes(object)) refuse(what, path, 'the value contains itself');
  if (around.length > DEEPEST) refuse(what, path.slice(0, 80), `nested deeper than ${DEEPEST} levels`);
  if (object instanceof Date) {
    if (Number.isNaN(object.getTime())) refuse(what, path, 'an invalid Date cannot be stored');
    return;
  }
  if (object instanceof Map || object instanceof Set || object instanceof RegExp || object instanceof Promise) {
    const hint = object instanceof Promise ? '; await it first' : '';
    refuse(what, path, `a ${object.constructor.name} cannot be stored${hint}`);
  }
  const { toJSON } = object as { toJSON?: unknown };
  if (!isMade && typeof toJSON === 'function') {
    check((toJSON as () => unknown).call(object), what, path, around, true);
    return;
  }
  around.push(object);
  if (Array.isArray(object)) {
    for (let at = 0; at < object.length; at++) {
      const item: unknown = object[at];
      if (typeof item !== 'string') check(item, what, `${path}[${at}]`, around);
    }
  } else {
    for (const key of Object.keys(object)) {
      const item = (object as Record<string, unknown>)[key];
      if (isMade && key === 'toJSON') continue;
      if (typeof item !== 'string') check(item, what, path === '' ? key : `${path}.${key}`, around);
    }
  }
  around.pop();
}

function refuse(what: string, path: string, problem: string): never {
  throw new ValidationError(`${what}${path === '' ? '' : ` at "${path}"`}: ${problem}`, {
    details: [{ path, message: problem }],
  });
}
