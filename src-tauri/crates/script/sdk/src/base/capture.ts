// Values as a debugger shows them: a walk over own data properties that runs no code of the author's, no getter, no
// proxy trap, no `toJSON`. Functions of the runtime are kept from before an author could replace them.

import { native } from './host';
import { isHidden, shownOf, type Shown } from './shown';
import { unveiled } from './views';

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

const { getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, create } = Object;
const { ownKeys, apply } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { toStringTag } = Symbol;
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
const typedName = getOwnPropertyDescriptor(typedPrototype, toStringTag)!.get as () => string | undefined;
const typedLength = getOwnPropertyDescriptor(typedPrototype, 'length')!.get as () => number;
const bufferLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')!.get as () => number;
const dataLength = getOwnPropertyDescriptor(DataView.prototype, 'byteLength')!.get as () => number;
const symbolText = Symbol.prototype.toString;
/** The prototypes of numbers, texts and the like that are objects, and what tells their values. */
const boxes: readonly { prototype: object; valueOf: (this: never) => unknown }[] = [
  { prototype: Number.prototype, valueOf: Number.prototype.valueOf },
  { prototype: String.prototype, valueOf: String.prototype.valueOf },
  { prototype: Boolean.prototype, valueOf: Boolean.prototype.valueOf },
  { prototype: BigInt.prototype, valueOf: BigInt.prototype.valueOf },
  { prototype: Symbol.prototype, valueOf: Symbol.prototype.valueOf },
];
const { is: isSame } = Object;
const { stringify } = JSON;
const { min } = Math;
const { slice } = String.prototype;
const { charCodeAt } = String.prototype;
const { exec } = RegExp.prototype;
/** Half of a surrogate pair, which JSON cannot hand on. */
const HALF = /[\ud800-\udfff]/u;
const isHalf = (value: string): boolean => apply(exec, HALF, [value]) !== null;

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

/** The name of the class of an object; of one without a class, like a generator, what it calls itself. */
function className(value: object): string {
  const maker = inherited(value, 'constructor');
  const name = typeof maker === 'function' && !native.isProxy(maker) ? text(data(maker, 'name')?.value) : '';
  return name || text(inherited(value, toStringTag));
}

function isAmong(all: readonly object[], one: object): boolean {
  for (let at = 0; at < all.length; at++) if (all[at] === one) return true;
  return false;
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
const STATES = ['pending', 'fulfilled', 'rejected'] as const;
const stateOf = (promise: object): (typeof STATES)[number] => STATES[native.promiseState(promise) as 0 | 1 | 2];
// A promise of the author's own class is one, too; what only has a `then` is not.
const isPromise = (value: object): boolean => native.promiseState(value) >= 0;

/** An object of which nothing else is shown than its properties. */
const PLAIN = create(null) as Shown;

/** What is shown of an object of this SDK's classes, and of a number or text that is an object. */
function shownAs(value: object): Shown | undefined {
  for (let at = getPrototypeOf(value) as object | null; at !== null; at = getPrototypeOf(at) as object | null) {
    if (native.isProxy(at)) return undefined;
    const shown = shownOf(value, at);
    if (shown) return shown;
    for (let nth = 0; nth < boxes.length; nth++) {
      const box = boxes[nth] as (typeof boxes)[number];
      const boxed = box.prototype === at ? ask(box.valueOf, value) : undefined;
      if (boxed !== undefined) return setPrototypeOf({ value: boxed }, null) as Shown;
    }
  }
  return undefined;
}

const cut = (value: string, most: number): string => apply(slice, value, [0, most]) as string;

const quoted = (value: string, most: number): string =>
  value.length > most ? `${stringify(cut(value, most))}… (${value.length} characters)` : stringify(value);

const symbolName = (symbol: symbol): string => apply(symbolText, symbol, []) as string;

/** Whether a text can be written as a key without quotes. */
function isName(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = apply(charCodeAt, value, [at]) as number;
    const isDigit = code >= 48 && code <= 57;
    const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 36;
    if (!isLetter && !(isDigit && at > 0)) return false;
  }
  return value.length > 0;
}

function keyText(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${symbolName(key)}]`;
  const name = `${key}`;
  return typeof key === 'number' || isName(name) ? name : stringify(name);
}

/** A list with one more at its end. */
function more<T>(all: readonly T[], one: T): T[] {
  const longer: T[] = [];
  for (let at = 0; at < all.length; at++) longer[at] = all[at] as T;
  longer[all.length] = one;
  return longer;
}

/** A preview that stops when it is long enough. */
class Preview {
  text = '';
  isCut = false;

  get isFull(): boolean {
    return this.text.length > MAX_PREVIEW;
  }

  add(given: unknown, depth: number, open: readonly object[]): void {
    const value = unveiled(given);
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
        this.text += symbolName(value as symbol);
        return;
      case 'number':
        this.text += isSame(value, -0) ? '-0' : String(value);
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
        const isClass = cut(text(ask(functionText, value)), 5) === 'class';
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
        this.addPromise(value as object, depth, open);
        return;
      case 'error': {
        const it = value as object;
        const name = text(inherited(it, 'name')) || className(it) || 'Error';
        const message = text(inherited(it, 'message'));
        this.text += message ? `${name}: ${cut(message, MAX_TEXT)}` : name;
        this.isCut = true;
        return;
      }
      default:
        this.addObject(kind, value as object, depth, open);
    }
  }

  private addPromise(promise: object, depth: number, open: readonly object[]): void {
    this.text += `${className(promise) || 'Promise'} <`;
    const state = stateOf(promise);
    this.text += state;
    if (state !== 'pending') {
      this.text += ': ';
      if (isAmong(open, promise)) this.text += '[circular]';
      else if (depth >= MAX_DEPTH || this.isFull) this.text += '…';
      else this.add(native.promiseResult(promise), depth + 1, more(open, promise));
      this.isCut = true;
    }
    this.text += '>';
  }

  private addObject(kind: string, value: object, depth: number, open: readonly object[]): void {
    if (isAmong(open, value)) {
      this.text += '[circular]';
      return;
    }
    if (native.isProxy(value)) {
      this.text += 'Proxy';
      return;
    }
    const { label, total, shown } = headOf(kind, value);
    if (shown && 'value' in shown) {
      if (shown.fields) this.isCut = true;
      this.text += `${label} `;
      this.add(shown.value, depth, open);
      return;
    }
    if (depth >= MAX_DEPTH || this.isFull) {
      this.isCut = true;
      this.text += label || (kind === 'array' ? `Array(${total})` : total === 0 ? '{}' : '{…}');
      return;
    }
    const isList = kind === 'array' || kind === 'typedArray';
    const inside = more(open, value);
    this.text += `${label ? `${label} ` : ''}${isList ? '[' : '{'}`;
    let isFirst = true;
    const entries = entriesOf(kind, value, MAX_ENTRIES);
    for (let at = 0; at < entries.length; at++) {
      const { key, value: one, instead, isPair } = entries[at] as Entry;
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
      if (!isList && kind !== 'set') this.text += `${keyText(key)}: `;
      if (instead !== undefined) this.text += instead;
      else this.add(one, depth + 1, inside);
    }
    if (total > MAX_ENTRIES) {
      this.text += `, … ${total} in all`;
      this.isCut = true;
    }
    this.text += isList ? ']' : '}';
  }
}

/** What stands before the brackets of an object, and how many entries it has. */
function headOf(kind: string, value: object): { label: string; total: number; shown?: Shown | undefined } {
  switch (kind) {
    case 'array':
      return { label: '', total: (data(value, 'length')?.value as number) ?? 0 };
    case 'map': {
      const size = ask(mapSize, value) as number;
      return { label: `Map(${size})`, total: size };
    }
    case 'set': {
      const size = ask(setSize, value) as number;
      return { label: `Set(${size})`, total: size };
    }
    case 'typedArray': {
      const length = ask(typedLength, value);
      const name = ask(typedName, value);
      if (length === undefined || name === undefined) {
        const bytes = ask(bufferLength, value) ?? ask(dataLength, value) ?? '?';
        return { label: `${className(value) || 'ArrayBuffer'}(${bytes})`, total: 0 };
      }
      return { label: `${className(value) || name}(${length})`, total: length };
    }
    case 'promise':
      return { label: '', total: entriesOf(kind, value, Infinity).length };
    default: {
      const name = kind === 'instance' ? className(value) || 'Object' : '';
      const shown = kind === 'instance' ? shownAs(value) : undefined;
      const { pairs, map, fields } = shown ?? PLAIN;
      const size = pairs ? pairs.length : map ? (ask(mapSize, map) as number) : undefined;
      const total = (size ?? fields?.length ?? 0) + keysOf(kind, value).length;
      return { label: size === undefined ? name : `${name}(${size})`, total, shown };
    }
  }
}

/** What stands in place of a value that code of the author's would compute, and of an index that a list leaves out. */
const GETTER = '(getter)';
const EMPTY = '(empty)';

interface Entry {
  key: PropertyKey;
  /** What is shown in place of the key, for a value that no property has. */
  name?: string;
  value: unknown;
  /** What is shown of a property that has no value. */
  instead?: typeof GETTER | typeof EMPTY;
  /** A key and a value of a map. */
  isPair?: boolean;
}

/** The keys of an object's own properties, without those of this SDK. */
function keysOf(kind: string, value: object): PropertyKey[] {
  const all = ownKeys(value);
  const keys: PropertyKey[] = [];
  for (let at = 0; at < all.length; at++) {
    const key = all[at] as PropertyKey;
    const isShown = typeof key === 'symbol' ? !isHidden(key) : kind !== 'error' || key !== 'stack';
    if (isShown) keys[keys.length] = key;
  }
  return keys;
}

function entriesOf(kind: string, value: object, most: number): Entry[] {
  const found: Entry[] = [];
  if (kind === 'map') {
    const all = ask(mapEntries, value) as object;
    for (let at = 0; at < most; at++) {
      const { done, value: pair } = apply(nextOfMap, all, []) as IteratorResult<[unknown, unknown]>;
      if (done) break;
      found[found.length] = { key: at, value: pair, isPair: true };
    }
    return found;
  }
  if (kind === 'set') {
    const all = ask(setValues, value) as object;
    for (let at = 0; at < most; at++) {
      const { done, value: one } = apply(nextOfSet, all, []) as IteratorResult<unknown>;
      if (done) break;
      found[found.length] = { key: at, value: one };
    }
    return found;
  }
  if (kind === 'typedArray') {
    const length = min(ask(typedLength, value) ?? 0, most);
    for (let at = 0; at < length; at++)
      found[found.length] = { key: at, value: (value as unknown as ArrayLike<number>)[at] };
    return found;
  }
  if (kind === 'array') {
    const length = min((data(value, 'length')?.value as number) ?? 0, most);
    for (let at = 0; at < length; at++) {
      const own = getOwnPropertyDescriptor(value, at);
      found[found.length] = {
        key: at,
        value: own && 'value' in own ? own.value : undefined,
        instead: own === undefined ? EMPTY : 'value' in own ? undefined : GETTER,
      };
    }
    return found;
  }
  if (kind === 'promise' && native.promiseState(value) > 0) {
    found[0] = { key: 0, name: `<${stateOf(value)}>`, value: native.promiseResult(value) };
  }
  const { pairs, map, fields } = (kind === 'instance' ? shownAs(value) : undefined) ?? PLAIN;
  const held = map ? entriesOf('map', map, most) : [];
  for (let at = 0; at < held.length; at++) found[at] = held[at] as Entry;
  const pairCount = min(pairs?.length ?? 0, most);
  for (let at = 0; at < pairCount; at++) found[at] = { key: at, value: pairs?.[at], isPair: true };
  const fieldCount = min(fields?.length ?? 0, most);
  for (let at = 0; at < fieldCount; at++) {
    const field = fields?.[at];
    found[at] = { key: field?.[0] ?? '', value: field?.[1] };
  }
  const keys = keysOf(kind, value);
  for (let at = 0; at < keys.length && found.length < most; at++) {
    const key = keys[at] as PropertyKey;
    const own = getOwnPropertyDescriptor(value, key);
    if (!own) continue;
    const hasValue = 'value' in own;
    found[found.length] = { key, value: hasValue ? own.value : undefined, instead: hasValue ? undefined : GETTER };
  }
  return found;
}

/** Copies what is exactly JSON; throws `NOT_JSON` otherwise. */
const NOT_JSON = {};
function asJson(given: unknown, open: readonly object[], left: { nodes: number; letters: number }): unknown {
  const value = unveiled(given);
  if (--left.nodes < 0) throw NOT_JSON;
  switch (typeof value) {
    case 'string':
      left.letters -= value.length;
      if (left.letters < 0 || isHalf(value)) throw NOT_JSON;
      return value;
    case 'boolean':
      return value;
    case 'number':
      if (value !== value || value === Infinity || value === -Infinity || isSame(value, -0)) throw NOT_JSON;
      return value;
    case 'object':
      break;
    default:
      throw NOT_JSON;
  }
  if (value === null) return null;
  const it = value as object;
  const kind = kindOf(it);
  if ((kind !== 'array' && kind !== 'object') || isAmong(open, it) || open.length > 20) throw NOT_JSON;
  const inside = more(open, it);
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
  const made: Record<string, unknown> = create(null) as Record<string, unknown>;
  const keys = ownKeys(it);
  // Each is a node at least.
  if (keys.length > left.nodes) throw NOT_JSON;
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] as PropertyKey;
    const own = getOwnPropertyDescriptor(it, key);
    if (typeof key === 'symbol' || !own || !('value' in own) || !own.enumerable) throw NOT_JSON;
    left.letters -= `${key}`.length;
    if (isHalf(`${key as string}`)) throw NOT_JSON;
    made[key as string] = asJson(own.value, inside, left);
  }
  return made;
}

/** A value, with as much of what is inside as fits in a line. */
export function capture(given: unknown): Captured {
  const value = unveiled(given);
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
  if (kind !== 'array') {
    const entries = entriesOf(kind, value, Infinity);
    for (let at = 0; at < entries.length; at++) if (keyOf(entries[at] as Entry) === key) return entries[at];
    return undefined;
  }
  // A list may be as long as numbers go.
  const own = typeof key === 'number' ? data(value, key) : undefined;
  return own && { key, value: own.value };
}

/** What lies at the end of a path of keys inside a value, with its own properties. */
export function opened(value: unknown, path: readonly (string | number)[]): Opened | Failed {
  let at = unveiled(value);
  for (let step = 0; step < path.length; step++) {
    const key = path[step] as string | number;
    const kind = kindOf(at);
    const inside = typeof at === 'object' && at !== null && !native.isProxy(at) ? (at as object) : undefined;
    const entry = inside && entryOf(kind, inside, key);
    if (!entry) return { error: { name: 'NotFound', message: `the value has nothing at ${stringify(key)}` } };
    at = unveiled(entry.isPair ? (entry.value as [unknown, unknown])[1] : entry.value);
  }
  const kind = kindOf(at);
  const captured = capture(at);
  const isObject = typeof at === 'object' && at !== null && !native.isProxy(at);
  if (kind === 'string') {
    const whole = at as string;
    return { ...captured, preview: cut(whole, MAX_JSON_NODES * MAX_TEXT), entries: [], total: whole.length };
  }
  const found = isObject ? entriesOf(kind, at as object, MAX_OPENED) : [];
  const total = isObject ? headOf(kind, at as object).total : 0;
  const entries: Opened['entries'] = [];
  for (let nth = 0; nth < found.length; nth++) {
    const { key, value: one, instead, isPair } = found[nth] as Entry;
    const name = isPair ? capture((one as [unknown, unknown])[0]).preview : keyText(key);
    const inner = isPair ? (one as [unknown, unknown])[1] : one;
    entries[nth] = {
      name: (found[nth] as Entry).name ?? name,
      key: keyOf(found[nth] as Entry),
      value: instead ? { kind: 'cut', preview: instead } : capture(inner),
    };
  }
  return { ...captured, entries, total };
}

const keyOf = ({ key, name }: Entry): string | number => name ?? (typeof key === 'number' ? key : keyText(key));

/** Why an expression failed, without running code of the error. */
export function failure(thrown: unknown): Failed {
  if (typeof thrown !== 'object' || thrown === null || native.isProxy(thrown)) {
    return { error: { name: 'Error', message: capture(thrown).preview } };
  }
  const name = text(inherited(thrown, 'name')) || 'Error';
  const message = text(inherited(thrown, 'message'));
  // A thrown object that is no error says nothing of itself but what is in it.
  if (message === '' && !isError(thrown)) return { error: { name, message: capture(thrown).preview } };
  return { error: { name, message: cut(message, MAX_TEXT) } };
}
