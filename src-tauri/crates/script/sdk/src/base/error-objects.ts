// A thrown object as JSON, beside what the engine knows of every error: its own properties, its causes and its classes,
// so that a resume makes an equal object of it (SEMANTICS §5.5). `restored-errors.ts` is the way back.
//
// Must not: change the object, record an effect, or throw.

import { ASIDE, runAs } from './host';
import { chainOf } from './errors';

/** A value with a tag is `{ "$tag": … }`; a plain object that looks like one is `{ "$object": … }`. */
export interface ErrorObject {
  /** Its number, if another place of the same record holds this error, too. */
  id?: number;
  /** Class names along the prototype chain, nearest first; absent if those of the engine's record are the same. */
  classes?: string[];
  /** Of an error inside of another one; absent if it is a property like the others. */
  message?: string;
  /** Of a `DOMException`, which has it by itself. */
  name?: string;
  /** Own properties, in their order. */
  fields?: Record<string, unknown>;
  /** Those of them that are not enumerable. */
  hidden?: string[];
  /** What getters and properties of the author's classes answer. */
  inherited?: Record<string, unknown>;
  locked?: Lock;
}

export type Lock = 'frozen' | 'sealed' | 'closed';

/** What one error may hold in all. What is beyond it is left out. */
const MOST_VALUES = 10_000;
const MOST_LETTERS = 2 ** 20;
/** Arrays, objects and errors nest at most so deep. */
const DEEPEST = 24;

/** Prototypes that every runtime has: what they answer is not kept. */
const shared = new Set<object | null>([null, Object.prototype]);

/** Classes of the engine and of the language are not looked into. */
export function shareClass(made: unknown): void {
  shared.add((made as { prototype: object }).prototype);
}

/**
 * Returns what the engine's record lacks of an error; nothing if it lacks nothing. `classes` are those of the record;
 * `details` are its details, if they are the error's own.
 */
export function objectOf(error: Error, classes: readonly string[], details: unknown): ErrorObject | undefined {
  // As no block's code: what getters ask of the outside is answered, and recorded nowhere.
  const object = runAs(ASIDE, () => new Reader().read(error, details));
  if (object.classes?.join('\n') === classes.join('\n')) delete object.classes;
  delete object.message;
  return Object.keys(object).length > 0 ? object : undefined;
}

class Reader {
  private values = MOST_VALUES;
  private letters = MOST_LETTERS;
  private readonly errors = new Map<object, ErrorObject>();
  private ids = 0;
  private readonly above = new Set<object>();
  /** How many values are not what JSON makes of them. */
  private marks = 0;

  read(error: Error, details: unknown): ErrorObject {
    const object = this.error(error, 0);
    const fields = object.fields;
    if (details === undefined || fields?.details === undefined) return object;
    // Once is enough if they are plain JSON.
    const reader = new Reader();
    reader.value(details, 0);
    if (reader.marks === 0) fields.details = { $details: true };
    return object;
  }

  private error(error: Error, depth: number): ErrorObject {
    const object: ErrorObject = { classes: chainOf(Object.getPrototypeOf(error) as object | null) };
    this.errors.set(error, object);
    for (const key of Reflect.ownKeys(error)) if (typeof key === 'string') this.own(error, key, depth, object);
    if (object.fields?.message === undefined) object.message = this.text(error, 'message') ?? '';
    if (object.classes?.includes('DOMException')) object.name = this.text(error, 'name') ?? 'Error';
    this.inherited(error, depth, object);
    const locked = lockOf(error);
    if (locked) object.locked = locked;
    return object;
  }

  private own(error: Error, key: string, depth: number, object: ErrorObject): void {
    // The engine keeps the stack.
    if (key === 'stack') return;
    const own = attempt(() => Reflect.getOwnPropertyDescriptor(error, key));
    const value = attempt(() => (error as unknown as Record<string, unknown>)[key]);
    if (!own || (value === undefined && !('value' in own))) return;
    if (key === 'message' && own.enumerable !== true && typeof value === 'string') return;
    const json = this.value(value, depth + 1);
    if (json === undefined) return;
    (object.fields ??= bare())[key] = json;
    if (own.enumerable !== true) (object.hidden ??= []).push(key);
  }

  private inherited(error: Error, depth: number, object: ErrorObject): void {
    let prototype = Object.getPrototypeOf(error) as object | null;
    for (; !shared.has(prototype); prototype = Object.getPrototypeOf(prototype) as object | null) {
      for (const key of Object.getOwnPropertyNames(prototype)) {
        if (['constructor', 'message', 'stack'].includes(key) || Object.hasOwn(error, key)) continue;
        if (object.inherited && key in object.inherited) continue;
        const value = attempt(() => (error as unknown as Record<string, unknown>)[key]);
        const json = value === undefined ? undefined : this.value(value, depth + 1);
        if (json !== undefined) (object.inherited ??= bare())[key] = json;
      }
    }
  }

  private text(error: Error, key: 'message' | 'name'): string | undefined {
    const value: unknown = attempt(() => error[key]);
    return value === undefined ? undefined : attempt(() => String(value).slice(0, MOST_LETTERS));
  }

  /** Nothing if the value has no JSON form, or if the error has too many already. */
  private value(value: unknown, depth: number): unknown {
    if (this.values-- <= 0 || depth > DEEPEST) return this.leaveOut();
    switch (typeof value) {
      case 'string':
        this.letters -= value.length;
        return this.letters < 0 ? this.leaveOut() : value;
      case 'boolean':
        return value;
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value;
        return this.tag('value', Object.is(value, -0) ? '-0' : String(value));
      case 'undefined':
        return this.tag('value', 'undefined');
      case 'bigint':
        return this.tag('bigint', String(value));
      case 'object':
        return value === null ? null : attempt(() => this.object(value, depth));
      default:
        return this.leaveOut();
    }
  }

  private object(value: object, depth: number): unknown {
    const met = this.errors.get(value);
    if (met !== undefined) return this.tag('again', (met.id ??= ++this.ids));
    if (value instanceof Error) return this.tag('error', this.error(value, depth));
    if (this.above.has(value) || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return this.leaveOut();
    this.above.add(value);
    try {
      if (value instanceof Date) return this.tag('date', value.getTime());
      if (value instanceof Map) return this.tag('map', this.list([...value.entries()], depth));
      if (value instanceof Set) return this.tag('set', this.list([...value], depth));
      if (Array.isArray(value)) return this.list(value, depth);
      const { toJSON } = value as { toJSON?: unknown };
      if (typeof toJSON !== 'function') return this.fields(value, depth);
      this.marks++;
      return this.value(Reflect.apply(toJSON, value, ['']), depth + 1);
    } finally {
      this.above.delete(value);
    }
  }

  private list(values: readonly unknown[], depth: number): unknown[] {
    return Array.from(values.slice(0, MOST_VALUES), (one) => this.value(one, depth + 1) ?? null);
  }

  private fields(value: object, depth: number): unknown {
    const fields = bare();
    for (const key of Object.keys(value)) {
      if (this.values <= 0) {
        this.leaveOut();
        break;
      }
      const json = this.value(
        attempt(() => (value as Record<string, unknown>)[key]),
        depth + 1,
      );
      if (json !== undefined) fields[key] = json;
    }
    const names = Object.keys(fields);
    return names.length === 1 && names[0]?.startsWith('$') ? this.tag('object', fields) : fields;
  }

  private tag(name: string, value: unknown): unknown {
    this.marks++;
    return { [`$${name}`]: value };
  }

  private leaveOut(): undefined {
    this.marks++;
    return undefined;
  }
}

/** An object for names of an author, `__proto__` too. */
function bare(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function lockOf(error: Error): Lock | undefined {
  if (attempt(() => Object.isExtensible(error)) !== false) return undefined;
  return Object.isFrozen(error) ? 'frozen' : Object.isSealed(error) ? 'sealed' : 'closed';
}

/** Getters and proxies of an author may throw. */
function attempt<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
