// The sources of an author's functions, for the engine, which knows functions again by them (ARCHITECTURE §4.2).
//
// Must not: import anything; what lowered functions are run by needs this while it loads.

/** What a lowered function is called on, to give what it was lowered to instead of running it. */
export const SOURCE = {};

/** Functions of ours that only call an author's. */
const meant = new WeakMap<object, unknown>();

/** `ours` does what an author's function does; nothing where it is nobody's. */
export function standsFor<T extends object>(ours: T, authors: unknown): T {
  meant.set(ours, authors);
  return ours;
}

const { toString } = Function.prototype;

/** The text that is the same for all functions that were lowered without a name of their own. */
let lowered: string | undefined;

/** Tells what lowered functions look like. */
export function lowers(made: object): void {
  lowered = toString.call(made);
}

/** A function's source; empty where it is not the author's. */
export function sourceOf(fn: unknown): string {
  let own = fn;
  while (typeof own === 'function' && meant.has(own)) own = meant.get(own);
  if (typeof own !== 'function') return '';
  const text = toString.call(own);
  return text === lowered ? toString.call((own as (this: object) => object).call(SOURCE)) : text;
}
