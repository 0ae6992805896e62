// Values that an author's code may look at and not change: a write throws at its line, with the path that it names.
//
// Must not: copy a value. What the engine renews in place is seen through the views that were given out before.

import { isViewOf } from '../base/views';

/** The view of each object that was given out, so that one object has one view. */
const views = new WeakMap<object, object>();
const allViews = new WeakSet<object>();

/** Whether a value is a view, which cannot be renewed in place. */
export const isReadOnly = (value: unknown): boolean => allViews.has(value as object);

/** A view of a value, `where` is its path for people, `instead` what to do. */
export function readOnly(value: unknown, where: string, instead: string | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = views.get(value);
  if (known) return known;
  const refuse = (name: string | symbol): never => {
    const at = typeof name === 'string' && /^\d+$/.test(name) ? `${where}[${name}]` : `${where}.${String(name)}`;
    throw new TypeError(`${at} cannot be written${instead === undefined ? '' : `; ${instead}`}`);
  };
  const view = new Proxy(value, {
    get(target, name, receiver): unknown {
      const found: unknown = Reflect.get(target, name, receiver);
      if (typeof name === 'symbol' || !Object.hasOwn(target, name)) return found;
      return readOnly(found, Array.isArray(target) ? `${where}[${name}]` : `${where}.${name}`, instead);
    },
    set: (_target, name) => refuse(name),
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
  views.set(value, view);
  isViewOf(view, value);
  allViews.add(view);
  return view;
}
