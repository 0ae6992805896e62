// Makes what all functions of a file share unchangeable, once the file is loaded: the built-in objects and their
// prototypes, the global object, and what can be imported from the engine.
//
// An Activity gets only what is scoped to it. What it could write on a shared object, another one could read: the
// global object, a prototype, a built-in function. The file's own variables are its author's, and stay as they are.
// Must not: be used for files that have no Calls, which may change built-ins as they like.

/** What Rust takes away from the global object once the file is loaded. */
const TAKEN_AWAY = new Set<string | symbol>(['__flowglass', '__flowglass_host']);

/** Where modules that the engine provides leave what they export: those of zod, as far as a file imports them. */
const PROVIDED = Symbol.for('flowglass.provided');

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
    } else if (isPrototype && own.writable) {
      // People assign such names on objects of their own: a map's `get`, an error's `name`.
      Object.defineProperty(holder, key, inherited(holder, key, own.value));
    } else Object.defineProperty(holder, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(holder);
}

/**
 * A collection that stands under a name: what was in it stays, and nothing is added that another one could find. What
 * belongs to an object of whoever adds it (as what zod is told of a schema) is found by that object alone.
 */
function closed(all: Map<unknown, unknown> | Set<unknown>, isShared: (key: object) => boolean): object {
  const added = new WeakMap<object, unknown>();
  const refuse = (): never => {
    throw new TypeError('what all Activities share cannot be changed');
  };
  const change = {
    set(key: unknown, value: unknown) {
      if (typeof key !== 'object' || key === null || all.has(key) || isShared(key)) return refuse();
      added.set(key, value);
      return view;
    },
    get: (key: unknown) => (all instanceof Map && all.has(key) ? all.get(key) : added.get(key as object)),
    has: (key: unknown) => all.has(key) || added.has(key as object),
    delete: (key: unknown) => (all.has(key) ? refuse() : added.delete(key as object)),
    add: refuse,
    clear: refuse,
  };
  Object.values(change).forEach(Object.freeze);
  const reads = new Map<unknown, unknown>();
  for (const key of ['entries', 'keys', 'values', 'forEach', 'size', Symbol.iterator]) {
    const own = Reflect.get(all, key) as unknown;
    reads.set(
      key,
      typeof own === 'function' ? Object.freeze((own as (...given: unknown[]) => unknown).bind(all)) : own,
    );
  }
  const view: object = new Proxy(Object.freeze(Object.create(Object.getPrototypeOf(all) as object) as object), {
    get: (_view, key) => (Object.hasOwn(change, key) ? change[key as keyof typeof change] : reads.get(key)),
  });
  return view;
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
export function protectShared(modules: readonly object[], classes: readonly object[]): void {
  const shared = globalThis as { [PROVIDED]?: object[] };
  const provided = [...modules, ...(shared[PROVIDED] ?? [])];
  delete shared[PROVIDED];
  const settled = new Set<unknown>();
  const exported = provided.flatMap((one) => Object.values(one) as unknown[]);
  exported.forEach((one) => settle(one, settled));
  const found = new Set<object>();
  const next: unknown[] = [globalThis, ...withoutName(), ...provided, ...exported, ...settled, ...classes];
  while (next.length > 0) {
    const one = next.pop();
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null || found.has(one)) continue;
    found.add(one);
    next.push(Reflect.getPrototypeOf(one));
    for (const key of Reflect.ownKeys(one)) {
      if (TAKEN_AWAY.has(key)) continue;
      const own = Reflect.getOwnPropertyDescriptor(one, key);
      if (own?.writable && (own.value instanceof Map || own.value instanceof Set)) {
        Reflect.set(
          one,
          key,
          closed(own.value, (key) => found.has(key)),
        );
      } else next.push(own?.value, own?.get, own?.set);
    }
  }
  found.forEach((one) => {
    // Modules are what they are: their names cannot be written from outside.
    if (!provided.includes(one)) protect(one);
  });
}

/**
 * Reads what stands behind the getters of what modules export, so that a value that is made at its first use, and then
 * kept on its object, is made before the object is closed; and adds what it finds.
 */
function settle(one: unknown, found: Set<unknown>): void {
  if (typeof one !== 'object' || one === null || found.has(one)) return;
  found.add(one);
  const above: unknown = Reflect.getPrototypeOf(one);
  if (above !== Object.prototype && above !== null) return;
  for (const key of Reflect.ownKeys(one)) {
    if (!Reflect.getOwnPropertyDescriptor(one, key)?.get) continue;
    const value: unknown = Reflect.get(one, key);
    if (typeof value === 'function') found.add(value);
    settle(value, found);
  }
}
