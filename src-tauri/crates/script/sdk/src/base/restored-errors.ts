// Errors that a resume makes from the log (SEMANTICS §5.5): equal to what was thrown, in a runtime that has not thrown
// them. The log has the names of an error's classes; the class itself is known when the flow first asks about it.

import { chainOf, DOMException } from './errors';
import { shareClass, type ErrorObject, type Lock } from './error-objects';
import { completeZodError } from './zod-errors';

type ErrorClass = abstract new (...given: never[]) => object;

/** What the engine's record says of an error besides its object. */
interface Told {
  message: string;
  classes: readonly string[];
  details?: unknown;
  stack?: string;
}

/** An error some of whose classes are not known yet. */
interface Pending {
  /** Class names, nearest first. */
  chain: readonly string[];
  /** How many of them are not known yet. */
  unknown: number;
  /** What getters of these classes answered. */
  inherited: PropertyDescriptorMap;
  /** Its prototype, if it has one of its own because it is frozen: an object that is none cannot get another one. */
  link?: object;
}

const pending = new WeakMap<object, Pending>();

/** Classes by name: those of every runtime, and those that the flow named in `when` and `retryableErrors`. */
const known = new Map<string, ErrorClass[]>();

export function knowClass(made: unknown): void {
  const { name, prototype } = made as { name?: unknown; prototype?: unknown };
  if (typeof name !== 'string' || typeof prototype !== 'object' || prototype === null) return;
  const others = known.get(name) ?? [];
  if (!others.includes(made as ErrorClass)) known.set(name, [...others, made as ErrorClass]);
}

/** A class that every runtime has. */
export function knowSharedClass(made: unknown): void {
  knowClass(made);
  shareClass(made);
}

/** An error as it was thrown. */
export function restore(object: ErrorObject, told: Told): Error {
  return new Maker(told).error(object, told);
}

/** An error of the engine's record alone gets the classes of its names. */
export function giveClasses(error: Error, chain: readonly string[]): void {
  const own = chainOf(Object.getPrototypeOf(error) as object | null);
  const at = chain.indexOf(own[0] ?? 'Error');
  const base = (error as { constructor: unknown }).constructor;
  if (at <= 0 || typeof base !== 'function') return;
  pending.set(error, { chain, unknown: at, inherited: {} });
  settleKnown(error);
}

class Maker {
  private readonly errors = new Map<unknown, Error>();

  constructor(private readonly told: Told) {}

  error(object: ErrorObject, { message, classes, stack }: Told): Error {
    const chain = object.classes ?? classes;
    const isDom = chain.includes('DOMException');
    const error = isDom ? new DOMException(message, object.name) : new Error();
    if (object.id !== undefined) this.errors.set(object.id, error);
    Object.defineProperty(error, 'stack', { value: stack ?? '', writable: true, configurable: true });
    if (!isDom) Object.defineProperty(error, 'message', { value: message, writable: true, configurable: true });
    if (object.fields && 'message' in object.fields) Reflect.deleteProperty(error, 'message');
    Object.defineProperties(
      error,
      this.properties(object.fields ?? {}, (name) => object.hidden?.includes(name) !== true),
    );
    const inherited = this.properties(object.inherited ?? {}, () => false);
    const isOfZodFour = completeZodError(error);
    pending.set(error, { chain, unknown: chain.length, inherited });
    if (object.locked) lock(error, object.locked);
    settleKnown(error, isOfZodFour ? chain.indexOf('Error') : 0);
    // The class of zod 3 has the same name, and is another one.
    if (isOfZodFour) pending.delete(error);
    return error;
  }

  private properties(fields: Record<string, unknown>, isEnumerable: (name: string) => boolean): PropertyDescriptorMap {
    const made = Object.create(null) as PropertyDescriptorMap;
    for (const [name, json] of Object.entries(fields)) {
      made[name] = { value: this.value(json), writable: true, configurable: true, enumerable: isEnumerable(name) };
    }
    return made;
  }

  private value(json: unknown): unknown {
    if (typeof json !== 'object' || json === null) return json;
    if (Array.isArray(json)) return json.map((one) => this.value(one));
    const entries = Object.entries(json);
    const [name, given] = entries[0] ?? ['', undefined];
    if (entries.length === 1 && name.startsWith('$')) return this.tagged(name, given, json as Record<string, unknown>);
    return this.fields(json as Record<string, unknown>);
  }

  private fields(json: Record<string, unknown>): object {
    return Object.defineProperties(
      {},
      this.properties(json, () => true),
    );
  }

  private tagged(tag: string, given: unknown, whole: Record<string, unknown>): unknown {
    switch (tag) {
      case '$value':
        return given === 'undefined' ? undefined : Number(given);
      case '$bigint':
        return BigInt(given as string);
      case '$date':
        return new Date((given as number | null) ?? NaN);
      case '$map':
        return new Map(this.value(given) as [unknown, unknown][]);
      case '$set':
        return new Set(this.value(given) as unknown[]);
      case '$again':
        return this.errors.get(given);
      case '$details':
        return this.told.details;
      case '$error': {
        const object = given as ErrorObject;
        return this.error(object, { message: object.message ?? '', classes: ['Error'] });
      }
      case '$object':
        return this.fields(given as Record<string, unknown>);
      default:
        return this.fields(whole);
    }
  }
}

function lock(error: Error, locked: Lock): void {
  const state = pending.get(error) as Pending;
  state.link = Object.create(Error.prototype) as object;
  Object.setPrototypeOf(error, state.link);
  if (locked === 'frozen') Object.freeze(error);
  else if (locked === 'sealed') Object.seal(error);
  else Object.preventExtensions(error);
}

/** Gives an error the nearest of its classes, from one of them on, that are known. */
function settleKnown(error: Error, first = 0): void {
  const state = pending.get(error) as Pending;
  const { chain, unknown } = state;
  for (let at = first; at < unknown; at++) {
    const found = known.get(chain[at] as string)?.find((one) => fits(one, chain, at));
    if (found) return settle(error, state, at, found);
  }
  if (unknown === chain.length) settle(error, state, unknown, Error);
  else settle(error, state, unknown, (error as { constructor: unknown }).constructor as ErrorClass);
}

/** Whether a class has the bases that the log names; another class may have the same name. */
function fits(made: ErrorClass, chain: readonly string[], at: number): boolean {
  const own = chainOf((made.prototype ?? null) as object | null);
  return own.length === chain.length - at && own.every((name, nth) => name === chain[at + nth]);
}

function settle(error: object, state: Pending, at: number, made: ErrorClass): void {
  state.unknown = at;
  let prototype = standIns(state.chain.slice(0, at), made);
  if (at === 0) pending.delete(error);
  else if (Object.keys(state.inherited).length > 0) prototype = Object.create(prototype, state.inherited) as object;
  Object.setPrototypeOf(state.link ?? error, prototype);
}

const madeFor = new WeakMap<ErrorClass, Map<string, ErrorClass>>();

/** Returns the prototype of classes that only have the names of the author's, above a class that is known. */
function standIns(names: readonly string[], base: ErrorClass): object {
  return names.reduceRight((above: ErrorClass, name) => {
    const all = madeFor.get(above) ?? new Map<string, ErrorClass>();
    madeFor.set(above, all);
    const found = all.get(name) ?? (class extends (above as new () => object) {} as ErrorClass);
    if (!all.has(name)) Object.defineProperty(found, 'name', { value: name, configurable: true });
    all.set(name, found);
    return found;
  }, base).prototype as object;
}

const { apply } = Reflect;
const isOrdinaryInstance = Function.prototype[Symbol.hasInstance];

/** `instanceof` of errors: what is no instance may be an error of the log that has a class of this name. */
function isInstance(this: unknown, value: unknown): boolean {
  if (apply(isOrdinaryInstance, this, [value])) return true;
  const state = pending.get(value as object);
  if (state === undefined) return false;
  const made = this as ErrorClass;
  const at = state.chain.indexOf(made.name);
  if (at < 0 || at >= state.unknown || !fits(made, state.chain, at)) return false;
  settle(value as object, state, at, made);
  return true;
}

// All classes of errors inherit it.
Object.defineProperty(Error, Symbol.hasInstance, { value: isInstance, configurable: true });
Object.defineProperty(DOMException, Symbol.hasInstance, { value: isInstance, configurable: true });
