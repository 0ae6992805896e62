// The values behind read-only views: a debugger shows the value, where a flow gets a proxy that refuses writes.
//
// Must run no code of the author's: the functions of WeakMap are kept from before he could replace them.

const { get, set } = WeakMap.prototype;
const { apply } = Reflect;
const behind = new WeakMap<object, object>();

/** Says which value a view shows. */
export function isViewOf(view: object, value: object): void {
  apply(set, behind, [view, value]);
}

/** The value behind a view; any other value itself. */
export function unveiled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return (apply(get, behind, [value]) as object | undefined) ?? value;
}
