// The one door from flows to the engine, and the token that says whose code runs right now.
//
// Must not: know what a block or a scope is. QuickJS keeps no context across `await`, so bundles
// are lowered to no native async functions and the promise machinery below carries the token
// (ARCHITECTURE §8.2): every effect is attributed to its block even when parallel blocks interleave.

import { hide } from './shown';

/** What Rust puts on the global object before anything else runs. */
interface Native {
  sync(op: string, token: number, payload: string): string | undefined;
  start(id: number, op: string, token: number, payload: string): void;
  done(call: number, tag: string, payload: string): void;
  /**
   * A change of state by fields that are texts, finite numbers and truths, of an object with `plain` as its
   * prototype; nothing where it has to be asked for.
   */
  patch(token: number, target: string, fields: object, plain: object): boolean | undefined;
  increment(token: number, target: string, fields: object, plain: object): boolean | undefined;
  isProxy(value: unknown): boolean;
  /** The state of a promise; -1 for another value. Only in bundles that answer a question. */
  promiseState(value: unknown): -1 | 0 | 1 | 2;
  /** The value that a promise was fulfilled with, or why it was rejected. */
  promiseResult(promise: unknown): unknown;
  /** Runs an expression of a question apart: what it throws, and its limits, end it alone. */
  attempt(thunk: () => unknown): { ok: boolean; value: unknown };
  /** Whether a condition of a question holds; one that throws does not. */
  holds(condition: () => unknown): boolean;
  /** A statement began, in a call of a function; `order` counts those of all executions. */
  traced(site: number, call: number, order: number, id: number): void;
  /** A function was called from a statement of another call. */
  entered(call: number, from: number): void;
  /** What is behind a watched name, by its number, is another one after the expressions of a question. */
  changed(id: number, tick: number, name: number): void;
  /** The values at a statement, as JSON, and the stack there. Of code of no block only that it was reached: 0 as `id`. */
  took(id: number, tick: number, site: number, order: number, values: string, stack: string): void;
  /** Node's message for an error of the runtime: its class, message and stack. */
  explain(className: string, message: string, stack: string): string | undefined;
  /** `waiting.js` */
  waiting(host: object): {
    drive(body: (...args: never[]) => Generator, self: unknown, args: IArguments): Promise<unknown>;
    tell(token: number, promise: unknown, of: unknown, kept: never, broken: never): Promise<void>;
  };
}

declare const __flowglass: Native;

export const native: Native = __flowglass;

/** The token of code that runs while a flow file loads. */
export const LOAD = 0;

/** The token of an expression of a question, and of all that it starts: of no block. */
export const ASIDE = 2 ** 32 - 1;

export let current = LOAD;
/** Whose code ran last. */
let latest = LOAD;

export function currentToken(): number {
  return blockOf(current);
}

/** Whose code runs now, or ran last where none does: that of the jobs that do not end. */
export function latestToken(): number {
  return blockOf(current === LOAD ? latest : current);
}

/**
 * What code carries along from `await` to `await` (`node:async_hooks`). Such code goes by a number below 0 that its
 * token is worked out from: it may still run when its block has ended and nothing is kept of it.
 */
const carriedBy = new Map<number, unknown>();
let branches = 0;
const TOKENS = 2 ** 32;
const MOST_BRANCHES = 2 ** 20;

function blockOf(code: number): number {
  return code < LOAD ? -code % TOKENS : code;
}

/**
 * Whether code is an expression's of a question. What such code would do later must not happen: it would change what the
 * statements after it see.
 */
function isAside(code: number): boolean {
  return code === ASIDE || (code < LOAD && blockOf(code) === ASIDE);
}

/** Which code runs now: to go on as it later, where it carries something. */
export function currentCode(): number {
  return current;
}

/** What the code that runs now carries. */
export function carried(): unknown {
  return carriedBy.get(current);
}

/** Returns the code that is the block behind `token`, and carries something. */
export function codeThat(carries: unknown, token: number): number {
  branches = (branches % MOST_BRANCHES) + 1;
  const code = -(branches * TOKENS + token);
  carriedBy.set(code, carries);
  return code;
}

/** From here on the code that runs now carries this. */
export function carry(carries: unknown): void {
  current = codeThat(carries, currentToken());
}

/** The calls of functions with a context that have not ended. */
const running = new Set<number>();

export function began(token: number): void {
  running.add(token);
}

/** What is done when such a call ends, while it can still ask. */
const atEnds = new Map<number, (() => void)[]>();

export function atEnd(token: number, act: () => void): void {
  if (!running.has(token)) return;
  const known = atEnds.get(token);
  if (known) known.push(act);
  else atEnds.set(token, [act]);
}

export function ended(token: number): void {
  for (const act of atEnds.get(token) ?? []) act();
  atEnds.delete(token);
  running.delete(token);
  for (const code of carriedBy.keys()) if (blockOf(code) === token) carriedBy.delete(code);
}

/**
 * Which code a listener runs as: the call that added it, or, if that call has ended, the code that runs now. It carries
 * what the code that runs now carries.
 */
export function codeOfListener(token: number): number {
  if (token === currentToken() || (!running.has(token) && current !== LOAD)) return current;
  return carried() === undefined ? token : codeThat(carried(), token);
}

/**
 * Who asks by a handle: the block that it was made for, and when that one has ended, the block whose code uses it.
 * Packages keep a block's handles for the blocks after it.
 */
export function askerBy(token: number): number {
  const asks = currentToken();
  return asks === token || running.has(token) || !running.has(asks) ? token : asks;
}

/** How often code went on as a block: after each of these the stack may be another one. */
export let entries = 0;

/** Goes on as the block behind `token`. Answers whose code ran before, which the caller puts back. */
export function enter(token: number): number {
  const before = current;
  entries++;
  current = token;
  latest = token;
  return before;
}

/** Runs `body` as the block behind `token`. */
export function runAs<T>(token: number, body: () => T): T {
  const before = enter(token);
  try {
    return body();
  } finally {
    current = before;
  }
}

/** Puts back whose code ran before `enter`. */
export function leave(before: number): void {
  current = before;
}

// Kept from before an author could replace them.
const { getPrototypeOf, getOwnPropertyDescriptor, hasOwn } = Object;
const { apply } = Reflect;
const nativeThen = Promise.prototype.then;
const nativeResolve = Promise.resolve;

/** Prototypes that have no `then`, or the one below. */
const PLAIN: unknown[] = [Object.prototype, Array.prototype, Promise.prototype];

const nothing = (): void => undefined;

/** What waits by the runtime's own `await`. */
const waits = native.waiting({ currentCode, enter, leave, askedAsNow, promised, isAside });

/** Tells how a promise ended, as the block behind `token`; `of` says of what. */
export function tellAs<T>(
  token: number,
  promise: unknown,
  of: T,
  kept: (of: T, value: unknown) => void,
  broken: (of: T, error: unknown) => void,
): void {
  // What only looks like a promise is asked at once, while its block runs.
  const asked =
    promise instanceof Promise
      ? promise
      : new Promise((keep, fail) => (promise as PromiseLike<unknown>).then(keep, fail));
  void waits.tell(token, asked, of, kept as never, broken as never);
}

/** On a promise: the token of the code that made it, where that is known. */
const owner = Symbol('owner');
hide(owner);

function own<T>(promise: Promise<T>, token: number): Promise<T> {
  (promise as { [owner]?: number })[owner] = token;
  return promise;
}

/** `asked` is where an author's code asked: a refusal that comes later, and from elsewhere, points there. */
type Settle = { resolve(payload: string): void; reject(error: unknown): void; asked?: Error };
const waiting = new Map<number, Settle>();
let nextCall = 1;

/** JSON that every reader takes: half of a surrogate pair, which JSON only escapes, is replaced. */
export function wire(value: unknown): string {
  return sound(JSON.stringify(value));
}

export function sound(text: string): string {
  return text === undefined || !text.includes('\\ud') ? text : wellFormed(text);
}

function wellFormed(json: string): string {
  const made = json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^u]|u)/gi, (escape, lone: string | undefined) =>
    lone === undefined ? escape : '\\ufffd',
  );
  // Told once in a request.
  if (made !== json) native.sync('lone', currentToken(), '');
  return made;
}

/** Gets ways to stop what has started, and to say whether the request must wait for a timeout. */
type Started = (stop: () => void, hold: (hasListeners: boolean) => void) => void;

/** Asks the engine for something that takes time. */
export function ask(token: number, op: string, payload: unknown, started?: Started): Promise<string> {
  return askJson(token, op, wire(payload), started);
}

/** The same with JSON that is sound. */
export function askJson(token: number, op: string, json: string, started?: Started): Promise<string> {
  const id = nextCall++;
  return new Promise<string>((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    native.start(id, op, token, json);
    started?.(
      () => void native.sync('stop', token, String(id)),
      (hasListeners) => void native.sync('hold', token, `${id} ${hasListeners}`),
    );
  });
}

/** Asks for a change of state, as JSON that is sound. A refusal points to the line that asked. */
export function askChange<T>(token: number, json: string, read: (payload: string) => T): Promise<T> {
  const id = nextCall++;
  const asked = new Error();
  const made = new Promise<T>((resolve, reject) => {
    waiting.set(id, { resolve: (payload) => resolve(read(payload)), reject, asked });
    native.start(id, 'apply', token, json);
  });
  return own(made, token);
}

/** Called by Rust when such a question is answered. */
export function answer(id: number, ok: boolean, payload: string, toError: (json: string) => unknown): void {
  const settle = waiting.get(id);
  waiting.delete(id);
  if (!settle) return;
  if (ok) return settle.resolve(payload);
  const error = toError(payload);
  if (settle.asked && error instanceof Error) {
    try {
      error.stack ||= settle.asked.stack ?? '';
    } catch {
      // An author's error may be frozen, or refuse to be read.
    }
  }
  settle.reject(error);
}

/** The prototypes of errors that the runtime makes. */
const ofRuntime = new Map<unknown, string>(
  [TypeError, ReferenceError, RangeError, SyntaxError, URIError].map((one) => [one.prototype, one.name]),
);

/** The runtime's own words of errors that have Node's words now; those that keep theirs have none. */
const said = new WeakMap<object, string | undefined>();

/** What Node.js says of what only the runtime's own classes or no words are for. */
function reworded(value: object, prototype: unknown): boolean {
  const error = value as Error;
  if (prototype === ofInternal && error.message === 'string too long') {
    said.set(error, error.message);
    Object.setPrototypeOf(error, RangeError.prototype);
    error.message = 'Invalid string length';
    return true;
  }
  // `Promise.any` makes its error without words, and no line of a flow makes it.
  const isOfAny = prototype === AggregateError.prototype && !Object.hasOwn(error, 'message');
  if (!isOfAny || /^.*flow\.js:/.test(error.stack ?? '')) return false;
  said.set(error, '');
  Object.defineProperty(error, 'message', {
    value: 'All promises were rejected',
    writable: true,
    configurable: true,
    enumerable: false,
  });
  return true;
}

/** The prototype of errors that no standard names. */
const ofInternal = (globalThis as { InternalError?: ErrorConstructor }).InternalError?.prototype ?? {};

/** Gives an error of the runtime the message that Node.js has for it; other values are left as they are. */
export function caught(value: unknown): void {
  try {
    if (typeof value !== 'object' || value === null || native.isProxy(value) || said.has(value)) return;
    const prototype = Object.getPrototypeOf(value) as unknown;
    const className = ofRuntime.get(prototype);
    if (className === undefined) return void reworded(value, prototype);
    const error = value as Error;
    const { message, stack } = error;
    const told = typeof stack === 'string' ? native.explain(className, message, stack) : undefined;
    said.set(error, told === undefined ? undefined : message);
    if (told !== undefined) error.message = told;
  } catch {
    // An error may be frozen, or refuse to be read.
  }
}

/** What the runtime said of an error, if that has Node's words now. */
export function saidOf(error: object): string | undefined {
  return said.get(error);
}

/** A callback of `then` or of a promise's maker. */
type Callback = (value: unknown) => unknown;

/** Continuations run as the block that registered them. */
function carrying(callback: unknown, token: number): unknown {
  if (typeof callback !== 'function') return callback;
  if (isAside(token)) return nothing;
  return (value: unknown) => runAs(token, () => askedAsNow((callback as Callback)(value)));
}

/** As `carrying`, for a function that gets what was thrown. */
function catching(callback: unknown, token: number): unknown {
  if (typeof callback !== 'function') return callback;
  if (isAside(token)) return nothing;
  return (value: unknown) => {
    caught(value);
    return runAs(token, () => askedAsNow((callback as Callback)(value)));
  };
}

/** Whether looking for a value's `then`, as the runtime does, runs code of a flow. */
function hidesCode(value: object): boolean {
  for (let at: object | null = value; at !== null; at = getPrototypeOf(at) as object | null) {
    if (native.isProxy(at)) return true;
    const found = getOwnPropertyDescriptor(at, 'then');
    if (found) return found.get !== undefined;
  }
  return false;
}

/**
 * What a promise is given in place of a value with a `then` of its own: the runtime looks for that and calls it later,
 * for no block, so both are done as the code that runs now.
 */
function askedAsNow(value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || current === LOAD) return value;
  if (!native.isProxy(value) && PLAIN.includes(getPrototypeOf(value)) && !hasOwn(value, 'then')) return value;
  const code = current;
  let then: unknown;
  try {
    then = (value as { then?: unknown }).then;
  } catch (error) {
    return {
      get then(): never {
        throw error;
      },
    };
  }
  if (then === Promise.prototype.then) return value;
  if (typeof then !== 'function') return hidesCode(value) ? own(nativeResolve.call(Promise, value), code) : value;
  return {
    then: (keep: Callback, fail: Callback): void => {
      // What it comes to may have a `then` of its own, too.
      const keeps = (kept: unknown): unknown => keep(runAs(code, () => askedAsNow(kept)));
      if (!isAside(code)) runAs(code, () => apply(then, value, [keeps, fail]) as unknown);
    },
  };
}

/** As `Promise.resolve` of `maker`, which takes a promise that `maker` made as it is. */
function promised(maker: PromiseConstructor, value: unknown): Promise<unknown> {
  const asked = askedAsNow(value);
  // A proxy is no promise, and looking at a revoked one fails.
  const isMade = asked !== value && !native.isProxy(value) && value instanceof Promise && value.constructor === maker;
  return nativeResolve.call(maker, isMade ? value : asked) as Promise<unknown>;
}

// `Promise.all` and its relatives ask this, too.
Promise.resolve = function resolve(this: PromiseConstructor, value?: unknown) {
  return promised(this, value);
} as typeof Promise.resolve;

function codeOf(promise: object): number {
  return (promise as { [owner]?: number })[owner] ?? current;
}

/** Whose a promise is: its maker's by `then`, else that of the code that runs now. */
export function ownerOf(promise: object): number {
  return blockOf(codeOf(promise));
}

Promise.prototype.then = function (this: Promise<unknown>, onFulfilled?: unknown, onRejected?: unknown) {
  // A promise that another one adopts is asked by no code of the flow; it goes on as its maker's.
  const token = current === LOAD ? codeOf(this) : current;
  const made = nativeThen.call(this, carrying(onFulfilled, token) as never, catching(onRejected, token) as never);
  return own(made, token);
} as typeof Promise.prototype.then;

/** Runs what an `async` function was lowered to, as the block that called it. */
export function drive(body: (...args: never[]) => Generator, self: unknown, args: IArguments): Promise<unknown> {
  // Where it fails for nobody, that is told of its block.
  return own(waits.drive(body, self, args), current);
}
