// Results of a collection that were used without `await`: older versions returned them at once.
//
// Must not: change when such a promise settles, or what awaiting it gives.

const LIST = 'map filter find findIndex forEach some every reduce slice sort flatMap at join includes length items';
const HANDLE =
  'state content key path edges readContent writeContent patchState setState incState pushState setStateRecord deleteStateRecord';

/** Which call made a promise, and what its result has that a promise has not. */
const calls = new WeakMap<object, string>();

/** The prototype of promises whose results have these properties. Reading one of the promise itself fails there. */
function prototypeFor(names: readonly PropertyKey[]): object {
  const prototype = Object.create(Promise.prototype, { constructor: { value: Promise } }) as object;
  for (const name of names) {
    Object.defineProperty(prototype, name, {
      get(this: object): never {
        const call = calls.get(this) ?? 'this call';
        const read = typeof name === 'symbol' ? 'it is used as a value' : `"${String(name)}" is read of it`;
        throw new TypeError(`${call} returns a promise, and ${read}: write await before the call`);
      },
    });
  }
  return prototype;
}

const PROTOTYPES = {
  list: prototypeFor(LIST.split(' ')),
  handle: prototypeFor(HANDLE.split(' ')),
  count: prototypeFor([Symbol.toPrimitive, 'toFixed']),
};

/** Makes it an error to use a promise in place of its result. */
export function toAwait<T>(kind: keyof typeof PROTOTYPES, call: string, promise: Promise<T>): Promise<T> {
  calls.set(promise, call);
  return Object.setPrototypeOf(promise, PROTOTYPES[kind]) as Promise<T>;
}
