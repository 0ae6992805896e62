// Where a function of a chain was given, for errors that its own stack cannot place.
//
// Must not: hold on to functions; a chain that nobody needs any more takes this with it.

interface Origin {
  /** `map of sequencer "s"` */
  what: string;
  stack: string;
}

const origins = new WeakMap<object, Origin>();

/** Remembers the call of a chain's method by the functions it was given. */
export function keepOrigin(op: string, chain: string, functions: (object | undefined)[]): void {
  const given = functions.filter((one) => one !== undefined && !origins.has(one));
  if (given.length === 0) return;
  const origin = { what: `${op} of sequencer "${chain}"`, stack: new Error().stack ?? '' };
  for (const one of given) origins.set(one as object, origin);
}

export function originOf(fn: object): Origin | undefined {
  return origins.get(fn);
}
