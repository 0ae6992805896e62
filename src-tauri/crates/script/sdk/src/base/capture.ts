// Values as a debugger shows them: a walk over own data properties that runs no code of the author's, no getter, no
// proxy trap, no `toJSON`. Functions of the runtime are kept from before an author could replace them.

import { native } from './host';

/** A value in a form that JSON has (SEMANTICS §10.9). */
export interface Captured {
  kind: string;
  preview: string;
  /** The value itself, if it is exactly JSON and small. */
  json?: unknown;
  /** Whether there is more inside than the preview shows. */
  more?: boolean;
}

/** The properties of a value, one level down. */
export interface Opened extends Captured {
  entries: { name: string; key: string | number; value: Captured }[];
  /** How many there are. */
  total: number;
}

/** Why an expression has no value. */
export interface Failed {
  error: { name: string; message: string };
}

const MAX_DEPTH = 2;
const MAX_ENTRIES = 100;
const MAX_TEXT = 1024;
/** Of one value, inline. */
const MAX_PREVIEW = 400;
const MAX_OPENED = 1000;
const MAX_JSON_NODES = 1000;

const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { ownKeys, apply } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const functionText = Function.prototype.toString;
const dateTime = Date.prototype.getTime;
const isoOf = Date.prototype.toISOString;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const nextOfMap = getPrototypeOf(new Map().entries()).next as () => IteratorResult<[unknown, unknown]>;
const nextOfSet = getPrototypeOf(new Set().values()).next as () => IteratorResult<unknown>;
const sizeOf = (prototype: object): ((this: unknown) => number) =>
  getOwnPropertyDescriptor(prototype, 'size')!.get as never;
const mapSize = sizeOf(Map.prototype);
const setSize = sizeOf(Set.prototype);
const sourceOf = getOwnPropertyDescriptor(RegExp.prototype, 'source')!.get as () => string;
const flagsOf = getOwnPropertyDescriptor(RegExp.prototype, 'flags')!.get as () => string;
const typedPrototype = getPrototypeOf(Uint8Array.prototype) as object;
const typedName = getOwnPropertyDescriptor(typedPrototype, Symbol.toStringTag)!.get as () => string | undefined;
const typedLength = getOwnPropertyDescriptor(typedPrototype, 'length')!.get as () => number;
const bufferLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')!.get as () => number;
const promiseThen = Promise.prototype.then;
const symbolText = Symbol.prototype.toString;

/** Calls a method of the runtime; `undefined` if the value is not of its kind. */
function ask<T>(method: (...args: never[]) => T, value: unknown): T | undefined {
  try {
    return apply(method, value, []) as T;
  } catch {
    return undefined;
  }
}

/** The value of an own property, if it has one that no code computes. */
function data(value: object, key: PropertyKey): { value: unknown } | undefined {
  const found = getOwnPropertyDescriptor(value, key);
  return found && 'value' in found ? { value: found.value } : undefined;
}

/** The nearest value of a property along the prototypes that no code computes. */
function inherited(value: object, key: PropertyKey): unknown {
  for (let at: object | null = value; at !== null && !native.isProxy(at); at = getPrototypeOf(at) as object | null) {
    const found = getOwnPropertyDescriptor(at, key);
    if (found) return 'value' in found ? found.value : undefined;
  }
  return undefined;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The name of the class of an object. */
function className(value: object): string {
  const maker = inherited(value, 'constructor');
  return typeof maker === 'function' && !native.isProxy(maker) ? text(data(maker, 'name')?.value) : '';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  const type = typeof value;
  if (type !== 'object') return type;
  const it = value as object;
  if (native.isProxy(it)) return 'instance';
  if (isArray(it)) return 'array';
  if (ask(mapSize, it) !== undefined) return 'map';
  if (ask(setSize, it) !== undefined) return 'set';
  if (ask(dateTime, it) !== undefined) return 'date';
  if (isRegExp(it)) return 'regexp';
  if (isView(it) || ask(bufferLength, it) !== undefined) return 'typedArray';
  if (isError(it)) return 'error';
  if (isPromise(it)) return 'promise';
  const prototype = getPrototypeOf(it) as unknown;
  return prototype === null || prototype === Object.prototype ? 'object' : 'instance';
}

function along(value: object, prototype: object): boolean {
  for (let at = getPrototypeOf(value) as object | null; at !== null; at = getPrototypeOf(at) as object | null) {
    if (at === prototype) return true;
    if (native.isProxy(at)) return false;
  }
  return false;
}

const isRegExp = (value: object): boolean => along(value, RegExp.prototype) && ask(flagsOf, value) !== undefined;
const isError = (value: object): boolean => along(value, Error.prototype);
// A promise of the author's own class is one, too; what only has a `then` is not.
const isPromise = (value: object): boolean => typeof promiseThen === 'function' && along(value, Promise.prototype);

const quoted = (value: string, most: number): string =>
  value.length > most ? `${JSON.stringify(value.slice(0, most))}… (${value.length} characters)` : JSON.stringify(value);

const isName = /^[A-Za-z_$][\w$]*$/;
const keyText = (key: PropertyKey): string =>
  typeof key === 'symbol' ? `[${symbolText.call(key)}]` : isName.test(String(key)) ? String(key) : JSON.stringify(key);

/** A preview that stops when it is long enough. */
class Preview {
  text = '';
  isCut = false;

  get isFull(): boolean {
    return this.text.length > MAX_PREVIEW;
  }

  add(value: unknown, depth: number, open: readonly object[]): void {
    const kind = kindOf(value);
    switch (kind) {
      case 'string': {
        const most = depth === 0 ? MAX_TEXT : 100;
        if ((value as string).length > most) this.isCut = true;
        this.text += quoted(value as string, most);
        return;
      }
      case 'bigint':
        this.text += `${String(value)}n`;
        return;
      case 'symbol':
        this.text += symbolText.call(value as symbol);
        return;
      case 'number':
        this.text += Object.is(value, -0) ? '-0' : String(value);
        return;
      case 'undefined':
      case 'null':
      case 'boolean':
        this.text += String(value);
        return;
      case 'function': {
        if (native.isProxy(value)) {
          this.text += 'Proxy(function)';
          return;
        }
        const name = text(data(value as object, 'name')?.value) || '(anonymous)';
        const isClass = text(ask(functionText, value)).startsWith('class');
        this.text += isClass ? `class ${name}` : `ƒ ${name}`;
        return;
      }
      case 'date': {
        const time = ask(dateTime, value) as number;
        this.text += time !== time ? 'Invalid Date' : text(ask(isoOf, value));
        return;
      }
      case 'regexp':
        this.text += `/${text(ask(sourceOf, value))}/${text(ask(flagsOf, value))}`;
        return;
      case 'promise':
        this.text += 'Promise';
        return;
      case 'error': {
        const it = value as object;
        const name = text(inherited(it, 'name')) || className(it) || 'Error';
        const message = text(inherited(it, 'message'));
        this.text += message ? `${name}: ${message.slice(0, MAX_TEXT)}` : name;
        this.isCut = true;
        return;
      }
      default:
        this.addObject(kind, value as object, depth, open);
    }
  }

  private addObject(kind: string, value: object, depth: number, open: readonly object[]): void {
    if (open.includes(value)) {
      this.text += '[circular]';
      return;
    }
    if (native.isProxy(value)) {
      this.text += 'Proxy';
      return;
    }
    const [label, total] = headOf(kind, value);
    if (depth >= MAX_DEPTH || this.isFull) {
      this.isCut = true;
      this.text += label || (kind === 'array' ? `Array(${total})` : total === 0 ? '{}' : '{…}');
      return;
    }
    const [before, after] = kind === 'array' || kind === 'typedArray' ? ['[', ']'] : ['{', '}'];
    const inside = [...open, value];
    this.text += label ? `${label} ${before}` : before;
    let isFirst = true;
    for (const { key, value: one, isComputed, isPair } of entriesOf(kind, value, MAX_ENTRIES)) {
      if (!isFirst) this.text += ', ';
      isFirst = false;
      if (this.isFull) {
        this.text += '…';
        this.isCut = true;
        break;
      }
      if (isPair) {
        this.add((one as [unknown, unknown])[0], depth + 1, inside);
        this.text += ' → ';
        this.add((one as [unknown, unknown])[1], depth + 1, inside);
        continue;
      }
      if (kind !== 'array' && kind !== 'typedArray' && kind !== 'set') this.text += `${keyText(key)}: `;
      else if (kind === 'array' && typeof key === 'string' && !/^\d+$/.test(key)) this.text += `${keyText(key)}: `;
      if (isComputed) this.text += '(getter)';
      else this.add(one, depth + 1, inside);
    }
    if (total > MAX_ENTRIES) {
      this.text += `, … ${total} in all`;
      this.isCut = true;
    }
    this.text += after;
  }
}

/** What stands before the brackets of an object, and how many entries it has. */
function headOf(kind: string, value: object): [string, number] {
  switch (kind) {
    case 'array':
      return ['', (data(value, 'length')?.value as number) ?? 0];
    case 'map': {
      const size = ask(mapSize, value) as number;
      return [`Map(${size})`, size];
    }
    case 'set': {
      const size = ask(setSize, value) as number;
      return [`Set(${size})`, size];
    }
    case 'typedArray': {
      const length = ask(typedLength, value);
      const name = ask(typedName, value);
      if (length === undefined || name === undefined) {
        return [`${className(value) || 'ArrayBuffer'}(${ask(bufferLength, value) ?? '?'})`, 0];
      }
      return [`${name}(${length})`, length];
    }
    default: {
      const name = kind === 'instance' ? className(value) || 'Object' : '';
      return [name, ownKeys(value).length];
    }
  }
}

interface Entry {
  key: PropertyKey;
  value: unknown;
  isComputed?: boolean;
  /** A key and a value of a map. */
  isPair?: boolean;
}

function entriesOf(kind: string, value: object, most: number): Entry[] {
  const found: Entry[] = [];
  if (kind === 'map') {
    const all = ask(mapEntries, value) as object;
    for (let at = 0; at < most; at++) {
      const { done, value: pair } = apply(nextOfMap, all, []) as IteratorResult<[unknown, unknown]>;
      if (done) break;
      found.push({ key: at, value: pair, isPair: true });
    }
    return found;
  }
  if (kind === 'set') {
    const all = ask(setValues, value) as object;
    for (let at = 0; at < most; at++) {
      const { done, value: one } = apply(nextOfSet, all, []) as IteratorResult<unknown>;
      if (done) break;
      found.push({ key: at, value: one });
    }
    return found;
  }
  if (kind === 'typedArray') {
    const length = Math.min(ask(typedLength, value) ?? 0, most);
    for (let at = 0; at < length; at++) found.push({ key: at, value: (value as unknown as ArrayLike<number>)[at] });
    return found;
  }
  if (kind === 'array') {
    const length = Math.min((data(value, 'length')?.value as number) ?? 0, most);
    for (let at = 0; at < length; at++) {
      const own = getOwnPropertyDescriptor(value, at);
      found.push({ key: at, value: own && 'value' in own ? own.value : undefined, isComputed: own?.get !== undefined });
    }
    return found;
  }
  for (const key of ownKeys(value)) {
    if (found.length >= most) break;
    const own = getOwnPropertyDescriptor(value, key);
    if (!own) continue;
    if (kind === 'error' && key === 'stack') continue;
    found.push({ key, value: 'value' in own ? own.value : undefined, isComputed: !('value' in own) });
  }
  return found;
}

/** Copies what is exactly JSON; throws `NOT_JSON` otherwise. */
const NOT_JSON = {};
function asJson(value: unknown, open: readonly object[], left: { nodes: number; letters: number }): unknown {
  if (--left.nodes < 0) throw NOT_JSON;
  switch (typeof value) {
    case 'string':
      left.letters -= value.length;
      if (left.letters < 0) throw NOT_JSON;
      return value;
    case 'boolean':
      return value;
    case 'number':
      if (value !== value || value === Infinity || value === -Infinity || Object.is(value, -0)) throw NOT_JSON;
      return value;
    case 'object':
      break;
    default:
      throw NOT_JSON;
  }
  if (value === null) return null;
  const it = value as object;
  const kind = kindOf(it);
  if ((kind !== 'array' && kind !== 'object') || open.includes(it) || open.length > 20) throw NOT_JSON;
  const inside = [...open, it];
  if (kind === 'array') {
    const length = (data(it, 'length')?.value as number) ?? 0;
    if (length > left.nodes || ownKeys(it).length !== length + 1) throw NOT_JSON;
    const made: unknown[] = [];
    for (let at = 0; at < length; at++) {
      const own = data(it, at);
      if (!own) throw NOT_JSON;
      made[at] = asJson(own.value, inside, left);
    }
    return made;
  }
  const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of ownKeys(it)) {
    const own = getOwnPropertyDescriptor(it, key);
    if (typeof key === 'symbol' || !own || !('value' in own) || !own.enumerable) throw NOT_JSON;
    made[key] = asJson(own.value, inside, left);
  }
  return made;
}

/** A value, with as much of what is inside as fits in a line. */
export function capture(value: unknown): Captured {
  const preview = new Preview();
  preview.add(value, 0, []);
  const captured: Captured = { kind: kindOf(value), preview: preview.text };
  try {
    captured.json = asJson(value, [], { nodes: MAX_JSON_NODES, letters: 16 * MAX_TEXT });
  } catch (error) {
    if (error !== NOT_JSON) throw error;
    if (preview.isCut) captured.more = true;
  }
  if (preview.isCut) captured.more = true;
  return captured;
}

function entryOf(kind: string, value: object, key: string | number): Entry | undefined {
  if (kind !== 'array') return entriesOf(kind, value, Infinity).find((one) => keyOf(one.key) === key);
  // A list may be as long as numbers go.
  const own = typeof key === 'number' ? data(value, key) : undefined;
  return own && { key, value: own.value };
}

/** What lies at the end of a path of keys inside a value, with its own properties. */
export function opened(value: unknown, path: readonly (string | number)[]): Opened | Failed {
  let at = value;
  for (const key of path) {
    const kind = kindOf(at);
    const inside = typeof at === 'object' && at !== null && !native.isProxy(at) ? (at as object) : undefined;
    const entry = inside && entryOf(kind, inside, key);
    if (!entry) return { error: { name: 'NotFound', message: `the value has nothing at ${JSON.stringify(key)}` } };
    at = entry.isPair ? (entry.value as [unknown, unknown])[1] : entry.value;
  }
  const kind = kindOf(at);
  const captured = capture(at);
  const isObject = typeof at === 'object' && at !== null && !native.isProxy(at);
  if (kind === 'string') {
    const whole = at as string;
    return { ...captured, preview: whole.slice(0, MAX_JSON_NODES * MAX_TEXT), entries: [], total: whole.length };
  }
  const found = isObject ? entriesOf(kind, at as object, MAX_OPENED) : [];
  const total = isObject ? headOf(kind, at as object)[1] : 0;
  const entries = found.map(({ key, value: one, isComputed, isPair }) => ({
    name: isPair ? capture((one as [unknown, unknown])[0]).preview : keyText(key),
    key: keyOf(key),
    value: isComputed ? { kind: 'cut', preview: '(getter)' } : capture(isPair ? (one as [unknown, unknown])[1] : one),
  }));
  return { ...captured, entries, total };
}

const keyOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : keyText(key));

/** Why an expression failed, without running code of the error. */
export function failure(thrown: unknown): Failed {
  if (typeof thrown !== 'object' || thrown === null || native.isProxy(thrown)) {
    return { error: { name: 'Error', message: capture(thrown).preview } };
  }
  const name = text(inherited(thrown, 'name')) || 'Error';
  return { error: { name, message: text(inherited(thrown, 'message')).slice(0, MAX_TEXT) } };
}
