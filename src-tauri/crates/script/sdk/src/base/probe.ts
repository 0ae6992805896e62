// What the probes in an author's code call: every statement advances the counter of the block whose code runs, and a
// statement that is asked for takes the values of expressions in its scope (ARCHITECTURE §8.10).
//
// Only bundles that answer a question import it; live runs never load it. Must not run an author's code beyond the
// expressions that were asked for.

import { capture, failure, opened } from './capture';
import { caught, current, currentToken, native } from './host';

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
  /** The ticks whose values are asked for. */
  from: number;
  to: number;
}

/** What is asked of an execution, as Rust says it. */
type Asked = Pick<Counter, 'id' | 'reports' | 'from' | 'to'>;

const fresh = (asked: Asked): Counter => ({ ...asked, tick: 0, call: 0, calls: 0 });

/** Of code that runs for no block. */
const NONE = fresh({ id: 0, reports: false, from: Infinity, to: 0 });

const byToken = new Map<number, Counter>();
const byId = new Map<number, Counter>();
let code = 0;
let counter = NONE;
/** How many statements of all executions have begun. */
let order = 0;

function find(): Counter {
  const token = currentToken();
  const known = byToken.get(token);
  if (known) return known;
  const answer = native.sync('probe', token, '');
  if (answer === undefined) return NONE;
  const asked = JSON.parse(answer) as Asked;
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
  if (current !== code) follow();
  const at = ++counter.tick;
  order++;
  counter.call = call;
  if (counter.reports) native.traced(site, call, order, counter.id);
  return at >= counter.from && at <= counter.to;
}

/** A function was called. Returns the number of the call in its block. */
export function enter(): number {
  if (current !== code) follow();
  const call = ++counter.calls;
  if (counter.reports) native.entered(call, counter.call);
  return call;
}

/** An expression of a question, or why it has no value here. */
type Thunk = () => unknown;

/** Takes the place of a block's counter while an expression runs, which may call functions that have probes, too. */
const ASIDE = fresh({ id: 0, reports: false, from: Infinity, to: 0 });

/** Takes the values of the expressions at a statement, if the condition holds. */
export function take(site: number, condition: Thunk | undefined, thunks: readonly Thunk[]): void {
  const own = counter;
  const ownCode = code;
  const ownOrder = order;
  counter = ASIDE;
  try {
    if (condition === undefined || native.holds(condition)) took(own, site, ownOrder, thunks);
  } finally {
    counter = own;
    code = ownCode;
    order = ownOrder;
  }
}

function took({ id, tick }: Counter, site: number, place: number, thunks: readonly Thunk[]): void {
  const path = native.sync('probe.path', currentToken(), '');
  const values = thunks.map((thunk) => {
    const { ok, value } = native.attempt(thunk);
    if (!ok) {
      caught(value);
      return failure(value);
    }
    return path === undefined ? capture(value) : opened(value, JSON.parse(path) as (string | number)[]);
  });
  native.took(id, tick, site, place, JSON.stringify(values), new Error().stack ?? '');
}
