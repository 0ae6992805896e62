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
  return {
    get: () => value,
    set(this: unknown, given: unknown) {
      if (this === holder) throw new TypeError(`${String(key)} of a built-in object cannot be changed`);
      if (typeof this !== 'object' && typeof this !== 'function') return;
      Object.defineProperty(this, key, { value: given, writable: true, enumerable: true, configurable: true });
    },
  };
}

function protect(holder: object): void {
  const isPrototype = Object.hasOwn(holder, 'constructor');
  for (const key of Reflect.ownKeys(holder)) {
    const own = Reflect.getOwnPropertyDescriptor(holder, key);
    if (!own?.configurable || TAKEN_AWAY.has(key)) continue;
    if (!('value' in own)) Object.defineProperty(holder, key, { configurable: false });
    else if (isPrototype && ASSIGNED.has(key)) {
      Object.defineProperty(holder, key, { ...inherited(holder, key, own.value), configurable: false });
    } else Object.defineProperty(holder, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(holder);
}

/**
 * Protects everything that can be reached from the global object, the prototypes that syntax alone reaches, and what
 * modules of the engine export.
 */
export function protectShared(modules: readonly Record<string, unknown>[]): void {
  const found = new Set<object>();
  const next: unknown[] = [
    globalThis,
    function* () {},
    async () => {},
    async function* () {},
    [][Symbol.iterator](),
    ''[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    'a'.matchAll(/a/g),
    /a/,
  ];
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
  // Of the modules of the engine only what a file can import: what they keep inside is theirs.
  for (const one of modules.flatMap((exported) => Object.values(exported))) {
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null) continue;
    found.add(one);
    for (const key of Reflect.ownKeys(one)) {
      const value = Reflect.getOwnPropertyDescriptor(one, key)?.value as unknown;
      if (typeof value === 'function' || (key === 'prototype' && value)) found.add(value as object);
    }
  }
  found.forEach(protect);
}
