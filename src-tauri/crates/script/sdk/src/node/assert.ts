// node:assert.

import { isDeepEqual } from './equality';
import { inspect } from './util';

interface Details {
  message?: string;
  actual?: unknown;
  expected?: unknown;
  operator?: string;
}

export class AssertionError extends Error {
  readonly code = 'ERR_ASSERTION';
  readonly generatedMessage: boolean;
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string;

  constructor({ message, actual, expected, operator = 'fail' }: Details = {}) {
    super(message ?? `${shown(actual)} ${operator} ${shown(expected)}`);
    this.name = 'AssertionError';
    this.generatedMessage = message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}

type Message = string | Error | undefined;
type Expected = RegExp | Error | object | ((error: unknown) => unknown) | undefined;

function shown(value: unknown): string {
  return inspect(value, { depth: 4, breakLength: Infinity });
}

function check(holds: boolean, given: Message, text: string, details: Details): void {
  if (holds) return;
  if (given instanceof Error) throw given;
  const made = new AssertionError({ ...details, message: given ?? text });
  if (given === undefined) Object.assign(made, { generatedMessage: true });
  throw made;
}

function compared(operator: string, says: string, holds: (actual: unknown, expected: unknown) => boolean) {
  return (actual: unknown, expected: unknown, message?: Message): void => {
    const text = `Expected values to be ${says}:\n\n${shown(actual)}\n\nand\n\n${shown(expected)}\n`;
    check(holds(actual, expected), message, text, { actual, expected, operator });
  };
}

export function ok(value?: unknown, message?: Message): void {
  const text = `The expression evaluated to a falsy value: ${shown(value)}`;
  check(Boolean(value), message, text, { actual: value, expected: true, operator: '==' });
}

export function fail(message: string | Error = 'Failed'): never {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, operator: 'fail' });
}

// oxlint-disable-next-line eqeqeq -- that is what the legacy comparison is
const isLoosely = (a: unknown, b: unknown): boolean => a == b || (a !== a && b !== b);
export const strictEqual = compared('strictEqual', 'strictly equal', Object.is);
export const notStrictEqual = compared('notStrictEqual', 'strictly unequal', (a, b) => !Object.is(a, b));
export const deepStrictEqual = compared('deepStrictEqual', 'strictly deep-equal', (a, b) => isDeepEqual(a, b));
export const notDeepStrictEqual = compared('notDeepStrictEqual', 'not strictly deep-equal', (a, b) => !isDeepEqual(a, b));
export const equal = compared('==', 'loosely equal', isLoosely);
export const notEqual = compared('!=', 'loosely unequal', (a, b) => !isLoosely(a, b));
export const deepEqual = compared('deepEqual', 'loosely deep-equal', (a, b) => isDeepEqual(a, b, true));
export const notDeepEqual = compared('notDeepEqual', 'not loosely deep-equal', (a, b) => !isDeepEqual(a, b, true));

export function match(text: string, pattern: RegExp, message?: Message): void {
  const said = `The text must match ${String(pattern)}: ${shown(text)}`;
  check(pattern.test(text), message, said, { actual: text, expected: pattern, operator: 'match' });
}

export function doesNotMatch(text: string, pattern: RegExp, message?: Message): void {
  const said = `The text must not match ${String(pattern)}: ${shown(text)}`;
  check(!pattern.test(text), message, said, { actual: text, expected: pattern, operator: 'doesNotMatch' });
}

export function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  if (value instanceof Error) throw value;
  throw new AssertionError({ message: `ifError got ${shown(value)}`, actual: value, operator: 'ifError' });
}

/** Whether an error is as expected; throws where it is not, or is of another kind. */
function isExpected(error: unknown, expected: Expected, message: Message): void {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    const isClass = expected === Error || Object.prototype.isPrototypeOf.call(Error, expected);
    if (isClass) {
      if (error instanceof expected) return;
      throw error;
    }
    const said = `The check of the error returned ${shown((expected as (error: unknown) => unknown)(error))}`;
    check((expected as (error: unknown) => unknown)(error) === true, message, said, { actual: error, expected });
    return;
  }
  if (expected instanceof RegExp) return match(String(error), expected, message);
  const keys = expected instanceof Error ? ['name', 'message', ...Object.keys(expected)] : Object.keys(expected);
  for (const key of keys) {
    const [is, must] = [Reflect.get(error as object, key) as unknown, Reflect.get(expected, key) as unknown];
    if (must instanceof RegExp && typeof is === 'string') match(is, must, message);
    else deepStrictEqual(is, must, message);
  }
}

/** `expected` may be left out before the message. */
function sorted(expected: Expected | string, message: Message): [Expected, Message] {
  return typeof expected === 'string' ? [undefined, expected] : [expected, message];
}

export function throws(run: () => unknown, given?: Expected | string, last?: Message): void {
  const [expected, message] = sorted(given, last);
  let thrown: { error: unknown } | undefined;
  try {
    run();
  } catch (error) {
    thrown = { error };
  }
  check(thrown !== undefined, message, 'Missing expected exception', { expected, operator: 'throws' });
  isExpected(thrown?.error, expected, message);
}

export function doesNotThrow(run: () => unknown, given?: Expected | string, last?: Message): void {
  const [, message] = sorted(given, last);
  try {
    run();
  } catch (error) {
    check(false, message, `Got unwanted exception: ${String(error)}`, { actual: error, operator: 'doesNotThrow' });
  }
}

type Work = Promise<unknown> | (() => Promise<unknown>);

export async function rejects(work: Work, given?: Expected | string, last?: Message): Promise<void> {
  const [expected, message] = sorted(given, last);
  let thrown: { error: unknown } | undefined;
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    thrown = { error };
  }
  check(thrown !== undefined, message, 'Missing expected rejection', { expected, operator: 'rejects' });
  isExpected(thrown?.error, expected, message);
}

export async function doesNotReject(work: Work, given?: Expected | string, last?: Message): Promise<void> {
  const [, message] = sorted(given, last);
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    check(false, message, `Got unwanted rejection: ${String(error)}`, { actual: error, operator: 'doesNotReject' });
  }
}

const shared = {
  AssertionError,
  deepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  fail,
  ifError,
  match,
  notDeepStrictEqual,
  notStrictEqual,
  ok,
  rejects,
  strictEqual,
  throws,
};

/** `assert(value)`, with everything as its members. */
const call = (value?: unknown, message?: Message): void => ok(value, message);
/** Where the legacy comparisons are the strict ones. */
export const strict = Object.assign((value?: unknown, message?: Message): void => ok(value, message), {
  ...shared,
  equal: strictEqual,
  notEqual: notStrictEqual,
  deepEqual: deepStrictEqual,
  notDeepEqual: notDeepStrictEqual,
});
Object.assign(strict, { strict });
export default Object.assign(call, { ...shared, equal, notEqual, deepEqual, notDeepEqual, strict });
