// Makes what all functions of a file share unchangeable, once the file is loaded: the built-in objects and their
// prototypes, the global object, and what can be imported from the engine.
//
// An Activity gets only what is scoped to it. What it could write on a shared object, another one could read: the
// global object, a prototype, a built-in function. The file's own variables are its author's, and stay as they are.
// Must not: be used for files that have no Calls, which may change built-ins as they like.

/** Names that people assign on their own objects although a prototype has them: an error's name, for one. */
const ASSIGNED = new Set<string | symbol>([
  ...['constructor', 'toString', 'toLocaleString', 'valueOf', 'toJSON', 'name', 'message', 'stack', 'cause', 'code'],
  ...['errors', 'next', 'return', 'throw', 'then', 'catch', 'finally'],
]);

/** What Rust takes away from the global object once the file is loaded. */
const TAKEN_AWAY = new Set<string | symbol>(['__flowglass', '__flowglass_host']);

/** A property that cannot be changed here, and still can be given to objects that inherit it. */
function inherited(holder: object, key: string | symbol, value: unknown): PropertyDescriptor {
  const accessor = {
    get: () => value,
    set(this: unknown, given: unknown) {
      if (this === holder) throw new TypeError(`${String(key)} of a built-in object cannot be changed`);
      if (typeof this !== 'object' && typeof this !== 'function') return;
      Object.defineProperty(this, key, { value: given, writable: true, enumerable: true, configurable: true });
    },
  };
  // Whoever asks for the descriptor gets these functions.
  return { get: Object.freeze(accessor.get), set: Object.freeze(accessor.set), configurable: false };
}

function protect(holder: object): void {
  const isPrototype = Object.hasOwn(holder, 'constructor');
  for (const key of Reflect.ownKeys(holder)) {
    const own = Reflect.getOwnPropertyDescriptor(holder, key);
    if (!own || TAKEN_AWAY.has(key)) continue;
    // What cannot be configured may still be writable, as the `prototype` of a function is.
    if (!own.configurable) {
      if (own.writable) Object.defineProperty(holder, key, { writable: false });
    } else if (!('value' in own)) {
      // A setter of a constructor changes what all share, as that of `Error.prepareStackTrace` does, which is called
      // with the errors of others. A setter of a prototype changes the object that it is called on.
      const set = typeof holder === 'function' ? undefined : own.set;
      Object.defineProperty(holder, key, { get: own.get, set, configurable: false });
    } else if (isPrototype && ASSIGNED.has(key)) {
      Object.defineProperty(holder, key, inherited(holder, key, own.value));
    } else Object.defineProperty(holder, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(holder);
}

/** Objects whose prototypes no name leads to. */
function withoutName(): unknown[] {
  type Helpers = Record<string, ((...given: unknown[]) => unknown) | undefined>;
  const helpers = (globalThis as unknown as { Iterator: Helpers }).Iterator;
  const iterator = [][Symbol.iterator]() as unknown as Helpers;
  return [
    function* () {},
    async () => {},
    async function* () {},
    [][Symbol.iterator](),
    ''[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    'a'.matchAll(/a/g),
    /a/,
    iterator.map?.((one: unknown) => one),
    helpers.from?.({ next: () => ({ done: true, value: undefined }) }),
    helpers.concat?.([]),
    helpers.zip?.([[]]),
  ];
}

/**
 * Protects everything that can be reached from the global object, the prototypes that no name leads to, what modules of
 * the engine export, and the classes of what their functions return.
 */
export function protectShared(modules: readonly Record<string, unknown>[], classes: readonly object[]): void {
  const found = new Set<object>();
  const next: unknown[] = [globalThis, ...withoutName(), ...modules.flatMap(Object.values), ...classes];
  while (next.length > 0) {
    const one = next.pop();
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null || found.has(one)) continue;
    found.add(one);
    next.push(Reflect.getPrototypeOf(one));
    for (const key of Reflect.ownKeys(one)) {
      if (TAKEN_AWAY.has(key)) continue;
      const own = Reflect.getOwnPropertyDescriptor(one, key);
      next.push(own?.value, own?.get, own?.set);
    }
  }
  found.forEach(protect);
}
