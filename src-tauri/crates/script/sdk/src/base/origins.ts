// Where a function of a chain or an action was given, for errors that its own stack cannot place.
//
// Must not: hold on to functions; a chain that nobody needs any more takes this with it.

interface Origin {
  /** `map of sequencer "s"` */
  what: string;
  stack: string;
}

const origins = new WeakMap<object, Origin>();

/** Remembers the call of a builder by the functions it was given. */
export function keepOrigin(what: string, functions: (object | undefined)[]): void {
  const given = functions.filter((one) => one !== undefined && !origins.has(one));
  if (given.length === 0) return;
  const origin = { what, stack: new Error().stack ?? '' };
  for (const one of given) origins.set(one as object, origin);
}

export function originOf(fn: object): Origin | undefined {
  return origins.get(fn);
}
