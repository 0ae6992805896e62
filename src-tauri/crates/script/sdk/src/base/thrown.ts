// Errors on their way to the engine and back: what was thrown stays the very same object.

import * as known from './errors';
import { classNames, DOMException, type FlowError } from './errors';
import { caught, saidOf, sound, wire as toWire } from './host';
import { inspect } from './inspect';
import { objectOf, type ErrorObject } from './error-objects';
import { giveClasses, knowSharedClass, restore } from './restored-errors';

type ErrorClass = new (message: string, options: Partial<FlowError>) => Error;

/** The classes an engine's error can be an instance of. */
const { SuspensionError: _suspension, LimitError: _limit, ...others } = known;
const classes = Object.fromEntries(Object.entries(others).filter(([name]) => name.endsWith('Error'))) as Record<
  string,
  ErrorClass
>;
const builtIn: Record<string, ErrorConstructor> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

Object.values(known)
  .filter((one) => (one as { prototype?: unknown }).prototype instanceof Error)
  .forEach(knowSharedClass);
[...Object.values(builtIn), Error, AggregateError, DOMException].forEach(knowSharedClass);

// Ten frames, the default, are used up by the promise machinery around an author's line.
(Error as unknown as { stackTraceLimit: number }).stackTraceLimit = 40;

/** Thrown objects that went to the engine, so that a rescue or hook gets the very same object. */
const thrown = new Map<number, unknown>();
let nextHandle = 1;

interface Wire {
  name: string;
  message: string;
  code?: string;
  retryable?: boolean;
  details?: unknown;
  stack?: string;
  classes: string[];
  /** The runtime's words, where `message` has Node's. */
  said?: string;
  /** What `name` says, where that is not the class's name. */
  ownName?: string;
  handle?: number;
  /** What a resume needs to make it again. */
  object?: ErrorObject;
  /** What a step gathers whose blocks all failed. */
  gathered?: Wire[];
  /** Of the HTTP answer it is about. */
  status?: number;
  /** The block that failed first. */
  path?: string;
  /** Whether it is what a block that a function runs has failed with. */
  ofBlock?: boolean;
}

/** Where errors come from that `block.run` has thrown into a function. */
const places = new WeakMap<object, string>();

/** What an author's code answers, unless it throws: getters and proxies may. */
function read<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}

/** A property of what was thrown as text; nothing where there is none, or where it cannot be read. */
function textOf(error: object, property: string): string | undefined {
  return read(() => {
    const value = (error as Record<string, unknown>)[property];
    return value === undefined ? undefined : String(value);
  }, undefined);
}

/**
 * What was thrown, as the engine records it (SEMANTICS §5.5). Never throws itself. `place` is the
 * stack to tell in place of its own.
 */
export function encodeError(value: unknown, place?: string): string {
  const handle = nextHandle++;
  let error: Error;
  if (read(() => value instanceof Error, false)) error = value as Error;
  else if (typeof value === 'string' && value !== '') error = new Error(value);
  // QuickJS throws null of its own when it has no memory for an error, but then no code runs any more, nor does this.
  else error = noError(value);
  thrown.set(handle, error);
  caught(error);
  const ownName = textOf(error, 'name');
  const className = read(() => error.constructor?.name, undefined);
  const wire: Wire = {
    name: ownName !== undefined && ownName !== 'Error' ? ownName : typeof className === 'string' ? className : 'Error',
    message: textOf(error, 'message') ?? 'the message of what was thrown cannot be read',
    classes: read(() => classNames(error), ['Error']).filter((name) => typeof name === 'string'),
    handle,
  };
  const said = saidOf(error);
  if (said !== undefined) wire.said = said;
  if (ownName !== undefined && wire.name !== ownName) wire.ownName = ownName;
  const code = read(() => (error as FlowError).code, undefined);
  if (typeof code === 'string') wire.code = code;
  if (read(() => (error as FlowError).retryable, false) === true) wire.retryable = true;
  const details = read(() => detailsOf(error), undefined);
  if (details !== undefined) wire.details = details;
  const isOwn = read(() => details === (error as FlowError).details, false);
  const object = read(() => objectOf(error, wire.classes, isOwn ? details : undefined), undefined);
  if (object !== undefined) wire.object = object;
  const stack = place ?? read(() => error.stack, undefined);
  if (typeof stack === 'string') wire.stack = stack;
  const status = read(() => {
    const { status, statusCode } = (error === value ? error : Object(value)) as {
      status?: unknown;
      statusCode?: unknown;
    };
    return [status, statusCode].find((one) => Number.isInteger(one) && (one as number) >= 100 && (one as number) < 600);
  }, undefined);
  if (status !== undefined) wire.status = status as number;
  const path = places.get(error);
  if (path !== undefined) wire.path = path;
  return read(() => toWire(wire), undefined) ?? toWire({ ...wire, details: undefined });
}

/** Not enumerable, as on an error that was thrown: code that lists or serializes an error sees no difference. */
const hidden = { writable: true, configurable: true, enumerable: false };

/** What stands for a thrown value that is no error: its details hold the value. */
function noError(value: unknown): Error {
  const error = new Error('Unknown block execution error');
  const json = read<string | undefined>(() => sound(JSON.stringify(value, withTexts)), undefined);
  const inspected = typeof value === 'bigint' ? `${value}n` : undefined;
  const shown: unknown = inspected ?? (json === undefined ? inspect(value) : JSON.parse(json));
  Object.defineProperty(error, 'details', { ...hidden, value: { thrown: shown } });
  return error;
}

/** The text of a part that has no JSON form, where JSON would show an empty object. */
function withTexts(_key: string, part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if (part instanceof Promise || part instanceof RegExp) return String(part);
  const isText = part instanceof Map || part instanceof Set || typeof (part as { then?: unknown }).then === 'function';
  return isText ? inspect(part) : part;
}

/** An error of the engine, or one that was here before, as an object to throw or to hand over. */
export function decodeError(json: string): Error {
  return reviveError(JSON.parse(json) as Wire);
}

export function reviveError(wire: Wire): Error {
  const error = revived(wire);
  if (wire.ofBlock === true && wire.path !== undefined) places.set(error, wire.path);
  return error;
}

function revived(wire: Wire): Error {
  if (wire.handle !== undefined && thrown.has(wire.handle)) return thrown.get(wire.handle) as Error;
  if (wire.object !== undefined) return restore(wire.object, wire);
  const options: Partial<FlowError> = {};
  if (wire.code !== undefined) options.code = wire.code;
  if (wire.retryable !== undefined) options.retryable = wire.retryable;
  if (wire.details !== undefined) options.details = wire.details;
  const error = make(wire, options);
  Object.defineProperty(error, 'name', { ...hidden, value: wire.ownName ?? wire.name });
  // Where it was made says nothing; who asked for what failed may put its own place here.
  Object.defineProperty(error, 'stack', { ...hidden, value: '' });
  giveClasses(error, wire.classes);
  const flow = error as FlowError;
  if (wire.code !== undefined && flow.code === undefined) flow.code = wire.code;
  if (wire.details !== undefined && flow.details === undefined) flow.details = wire.details;
  const cause = causeFrom((wire.details as { cause?: unknown } | undefined)?.cause);
  if (cause && error.cause === undefined) error.cause = cause;
  return error;
}

/** An object of the nearest class that is known here. */
function make(wire: Wire, options: Partial<FlowError>): Error {
  if (wire.classes.includes('AggregateError')) {
    if (wire.gathered) return new AggregateError(wire.gathered.map(reviveError), wire.message);
    const { errors } = (wire.details ?? {}) as { errors?: Wire[] };
    return new AggregateError(
      (errors ?? []).map((one) => reviveError({ ...one, classes: one.classes ?? [one.name] })),
      wire.message,
    );
  }
  const known = wire.classes.map((name) => classes[name]).find((found) => found !== undefined);
  if (known) return new known(wire.message, options);
  const own = wire.classes.map((name) => builtIn[name]).find((found) => found !== undefined);
  return new (own ?? Error)(wire.message);
}

/** What was told beside the message; the causes, and what an AggregateError gathers, are part of it. */
function detailsOf(error: Error): unknown {
  const { details, cause } = error as FlowError & { cause?: unknown };
  const more: Record<string, unknown> = {};
  const budget = { left: MOST_TOLD };
  if (cause !== undefined) more.cause = causeOf(cause, [error], budget);
  const gathered = gatheredBy(error, [error], budget);
  if (gathered !== undefined) more.errors = gathered;
  if (Object.keys(more).length === 0) return details;
  if (typeof details === 'object' && details !== null) return { ...details, ...more };
  return details === undefined ? more : { details, ...more };
}

/** Longer chains end here. */
const LONGEST = 17;

/** How many causes are told of one error in all: errors that share entries have more paths than entries. */
const MOST_TOLD = 1000;

interface Budget {
  left: number;
}

/** How many of the causes behind the last one are counted. */
const MOST_COUNTED = 10_000;

/** What an AggregateError gathers. `above` is the chain down to it, itself too. */
function gatheredBy(error: Error, above: readonly Error[], budget: Budget): Record<string, unknown>[] | undefined {
  const errors = read(
    () => (error.name === 'AggregateError' ? (error as AggregateError).errors : undefined),
    undefined,
  );
  if (!Array.isArray(errors) || above.length >= LONGEST) return undefined;
  const told: Record<string, unknown>[] = [];
  for (const one of errors as unknown[]) {
    if (budget.left <= 0) {
      told.push({ name: 'Error', message: `… ${errors.length - told.length} more errors` });
      break;
    }
    told.push(causeOf(one, above, budget));
  }
  return told;
}

/** How many causes there are from one on. */
function countFrom(first: unknown): number {
  const seen = new Set<unknown>();
  for (let cause = first; cause !== undefined && !seen.has(cause) && seen.size < MOST_COUNTED;) {
    seen.add(cause);
    const of = cause;
    cause = read(() => (of instanceof Error ? of.cause : undefined), undefined);
  }
  return seen.size;
}

/** `{ name, message, code?, cause?, errors? }`, recursively. `above` is the chain down to the cause. */
function causeOf(cause: unknown, above: readonly Error[], budget: Budget): Record<string, unknown> {
  budget.left--;
  if (!read(() => cause instanceof Error, false)) {
    const isObject = typeof cause === 'object' && cause !== null;
    return {
      name: 'Error',
      message: read(() => (isObject ? inspect(cause) : String(cause)), 'a cause that cannot be read'),
    };
  }
  const error = cause as Error;
  caught(error);
  const name = textOf(error, 'name') ?? 'Error';
  const message = textOf(error, 'message') ?? '';
  if (above.includes(error)) return { name, message: `${message} (again: the causes go in a circle)` };
  if (above.length > LONGEST) return { name: 'Error', message: `… ${countFrom(error)} more causes` };
  const told: Record<string, unknown> = { name, message };
  const code = read(() => (error as FlowError).code, undefined);
  const deeper = read(() => error.cause, undefined);
  const chain = [...above, error];
  if (typeof code === 'string') told.code = code;
  if (deeper !== undefined) told.cause = causeOf(deeper, chain, budget);
  const gathered = gatheredBy(error, chain, budget);
  if (gathered !== undefined) told.errors = gathered;
  return told;
}

/** The way back: a cause that is known by its words only. */
function causeFrom(told: unknown): Error | undefined {
  if (typeof told !== 'object' || told === null) return undefined;
  const { name, message, code, cause } = told as Partial<Wire> & { cause?: unknown };
  if (typeof message !== 'string') return undefined;
  const wire: Wire = { name: name ?? 'Error', message, classes: [name ?? 'Error'] };
  if (code !== undefined) wire.code = code;
  const deeper = causeFrom(cause);
  const error = reviveError(wire);
  if (deeper) error.cause = deeper;
  return error;
}
