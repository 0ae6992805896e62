// What the probes in an author's code call: every statement advances the counter of the block whose code runs, and a
// statement that is asked for takes the values of expressions in its scope (ARCHITECTURE §8.10).
//
// Only bundles that answer a question import it; live runs never load it. Must not run an author's code beyond the
// expressions that were asked for.

import { capture, failure, opened } from './capture';
import { ASIDE, caught, current, currentToken, enter as goOnAs, entries, leave, native, sound } from './host';

// Kept from before an author could replace them.
const { parse, stringify } = JSON;
const OwnError = Error;
const { setPrototypeOf, getOwnPropertyDescriptor, defineProperty } = Object;

/** What an expression sees in place of a value that flowglass.json takes from the environment. */
const REDACTED = '[redacted]';
/** The names of those values; read once. */
let secretNames: string[] | undefined;

/** The counter of one execution of a block. */
interface Counter {
  /** The number that Rust knows the execution by; 0 for code of no block. */
  id: number;
  /** How many statements have begun. */
  tick: number;
  /** The call of a function whose statement began last. */
  call: number;
  calls: number;
  /** Whether Rust is told of every statement. */
  reports: boolean;
  /** Whether it is also told which call made which. */
  traces: boolean;
  /** The ticks whose values are asked for. */
  from: number;
  to: number;
}

/** What is asked of an execution, as Rust says it. */
type Asked = Pick<Counter, 'id' | 'reports' | 'traces' | 'from' | 'to'>;

const fresh = (asked: Asked): Counter => ({ ...asked, tick: 0, call: 0, calls: 0 });

/** Of code that runs for no block: that it reached a statement is told once, and no more. */
const NONE = fresh({ id: 0, reports: false, traces: false, from: 0, to: Infinity });

const byToken = new Map<number, Counter>();
const byId = new Map<number, Counter>();
let code = 0;
let counter = NONE;
/** How many statements of all executions have begun. */
let order = 0;
/** Whether an expression runs, which may call functions that have probes, too. */
let isAside = false;

function find(): Counter {
  const token = currentToken();
  const known = byToken.get(token);
  if (known) return known;
  const answer = native.sync('probe', token, '');
  if (answer === undefined) return NONE;
  const asked = parse(answer) as Asked;
  let found = byId.get(asked.id);
  if (!found) {
    found = fresh(asked);
    byId.set(asked.id, found);
  }
  byToken.set(token, found);
  return found;
}

function follow(): void {
  code = current;
  counter = find();
}

/** A statement is about to run. Returns whether its values are asked for. */
export function tick(site: number, call: number): boolean {
  if (isAside) return false;
  if (current !== code) follow();
  const at = ++counter.tick;
  order++;
  if (counter.traces && (call !== counter.call || entries !== seenEntries)) {
    seenEntries = entries;
    depths[call] = depthNow();
  }
  counter.call = call;
  if (counter.reports) native.traced(site, call, order, counter.id);
  return at >= counter.from && at <= counter.to;
}

/** Of each call of the execution that is traced: how deep in the stack it runs, and the call that made it. */
const depths: number[] = [];
const callers: number[] = [];
/** A call that went on after an `await` has another depth. */
let seenEntries = 0;

function depthNow(): number {
  const stack = new OwnError().stack ?? '';
  let lines = 0;
  for (let at = 0; at < stack.length; at++) if (stack[at] === '\n') lines++;
  return lines;
}

/** A function was called. Returns the number of the call in its block. */
export function enter(): number {
  return isAside ? 0 : begin(true);
}

/** Begins a call, for what the code of an author calls. `isOwn` tells that it has a depth of its own. */
function begin(isOwn: boolean): number {
  if (current !== code) follow();
  const call = ++counter.calls;
  if (counter.traces) {
    // A call at the same depth has ended: the call before it made this one, too. `tick` is a frame nearer.
    const depth = depthNow() - 1;
    let from = counter.call;
    while (from > 0 && (depths[from] ?? 0) >= (isOwn ? depth : depth + 1)) from = callers[from] ?? 0;
    depths[call] = depth;
    callers[call] = from;
    native.entered(call, from);
  }
  return call;
}

/** The calls that initialize the fields of objects, and the static parts of classes. */
const initialized = new WeakMap<object, number>();

/**
 * A field of an object is about to be initialized, or a static part of a class, which may run as a part of the function
 * around it. Returns the number of the call that all of them are part of.
 */
export function initialize(of: object, isStatic = false): number {
  if (isAside) return 0;
  const known = initialized.get(of);
  if (known !== undefined) return known;
  const call = begin(!isStatic);
  initialized.set(of, call);
  return call;
}

/** An expression of a question, or why it has no value here. */
type Thunk = () => unknown;

/**
 * Takes the values of the expressions at a statement, if the condition holds. Tells if what is behind the `watched` names
 * is another one then.
 */
export function take(
  site: number,
  condition: Thunk | undefined,
  thunks: readonly Thunk[],
  watched: readonly Thunk[] = [],
): void {
  if (counter.id === 0) {
    counter.to = 0;
    native.took(0, 0, site, 0, '', '');
    return;
  }
  const token = currentToken();
  const before = goOnAs(ASIDE);
  isAside = true;
  const shown = hidden(token);
  try {
    const had = seen(watched);
    if (condition === undefined || native.holds(condition)) took(token, site, thunks);
    const has = seen(watched);
    for (let at = 0; at < had.length; at++) if (had[at] !== has[at]) native.changed(counter.id, counter.tick, at);
  } finally {
    shown();
    isAside = false;
    leave(before);
  }
}

/**
 * Refers to variables in code that never runs, so that the bundler keeps them and what computes them. Otherwise the
 * expressions of a question would decide that, and with it how many statements run.
 */
export function keep(..._variables: readonly unknown[]): void {}

const nothing = (): void => undefined;

/**
 * Hides the secrets of the environment from expressions, which could spell a value so that no text of it is found.
 * Returns what puts them back for the block that is replayed.
 */
function hidden(token: number): () => void {
  secretNames ??= parse(native.sync('probe.secrets', token, '') ?? '[]') as string[];
  const env = (globalThis as { process?: { env?: unknown } }).process?.env;
  if (secretNames.length === 0 || typeof env !== 'object' || env === null || native.isProxy(env)) return nothing;
  const names = secretNames;
  const had: (PropertyDescriptor | undefined)[] = [];
  for (let at = 0; at < names.length; at++) {
    const found = getOwnPropertyDescriptor(env, names[at] as string);
    if (found === undefined || !('value' in found) || (!found.configurable && !found.writable)) continue;
    had[at] = found;
    defineProperty(env, names[at] as string, { ...found, value: REDACTED });
  }
  return () => {
    for (let at = 0; at < names.length; at++) {
      const found = had[at];
      if (found !== undefined) defineProperty(env, names[at] as string, found);
    }
  };
}

/** What is behind names, as texts. */
function seen(names: readonly Thunk[]): string[] {
  const texts: string[] = [];
  for (let at = 0; at < names.length; at++) {
    const { ok, value } = native.attempt(names[at] as Thunk);
    texts[at] = ok ? stringify(bare(capture(value))) : '';
  }
  return texts;
}

function took(token: number, site: number, thunks: readonly Thunk[]): void {
  const path = native.sync('probe.path', token, '');
  const keys = path === undefined ? undefined : (parse(path) as (string | number)[]);
  const values: unknown[] = [];
  for (let at = 0; at < thunks.length; at++) {
    const { ok, value } = native.attempt(thunks[at] as Thunk);
    if (!ok) caught(value);
    values[at] = ok ? (keys ? opened(value, keys) : capture(value)) : failure(value);
  }
  const { id, tick } = counter;
  native.took(id, tick, site, order, sound(stringify(bare(values))), new OwnError().stack ?? '');
}

/** Takes the prototypes away from what is written as JSON, so that no `toJSON` of an author's is asked. */
function bare<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  setPrototypeOf(value, null);
  for (const key in value) bare(value[key]);
  return value;
}
