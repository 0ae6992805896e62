// How a debugger shows objects of this SDK's own classes, such as `URL`: their content is private, so a walk over
// properties finds nothing of it.
//
// Must run no code of the author's. The lowered private fields are read by methods of `WeakMap`, so nothing is read if
// those have been replaced.

const { getOwnPropertyDescriptor, setPrototypeOf } = Object;
const { has: ownHas, get: ownGet } = WeakMap.prototype;
const prototypeOfMaps = WeakMap.prototype;

/** What is shown of an object. */
export interface Shown {
  /** One value that says all, such as an address. */
  value?: unknown;
  /** Pairs of keys and values. */
  pairs?: readonly (readonly [string, unknown])[];
  /** A map that holds them. */
  map?: Map<string, unknown>;
  /** Its parts by their public names. */
  fields?: readonly (readonly [string, unknown])[];
}

interface Kind {
  prototype: object;
  read: (value: never) => Shown;
}

const kinds: Kind[] = [];

/**
 * Registers the objects of a class, under the public name of the class. `read` must not call what an author can
 * replace.
 */
export function showAs<T extends object>(Class: { prototype: T }, name: string, read?: (value: T) => Shown): void {
  Object.defineProperty(Class, 'name', { value: name, configurable: true });
  if (read) kinds[kinds.length] = { prototype: Class.prototype, read };
}

/** Properties of this SDK on objects that authors see. */
const hidden: PropertyKey[] = [];

/** Hides a property from debuggers. */
export function hide(key: symbol): void {
  hidden[hidden.length] = key;
}

export function isHidden(key: PropertyKey): boolean {
  for (let at = 0; at < hidden.length; at++) if (hidden[at] === key) return true;
  return false;
}

function isOwn(name: 'has' | 'get', own: unknown): boolean {
  return getOwnPropertyDescriptor(prototypeOfMaps, name)?.value === own;
}

/** Returns what is shown of an object that inherits from a prototype, if that is one of a registered class. */
export function shownOf(value: object, prototype: object): Shown | undefined {
  for (let at = 0; at < kinds.length; at++) {
    const kind = kinds[at] as Kind;
    if (kind.prototype !== prototype) continue;
    if (!isOwn('has', ownHas) || !isOwn('get', ownGet)) return undefined;
    try {
      return setPrototypeOf(kind.read(value as never), null) as Shown;
    } catch {
      // It only inherits from the class.
      return undefined;
    }
  }
  return undefined;
}
