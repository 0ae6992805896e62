// A method of a chain that is written wrong is told by its name, and not as "not a function".
//
// Must not: answer for names that are far from every method. Whoever looks whether a block is something else
// (a promise, a schema) must find nothing there.

import { nearest } from './known-keys';

type Named = abstract new (...args: never[]) => { readonly name: string };

/** Lets blocks of a class, whose prototypes all rest on `base`, tell what a misspelt method was meant to be. */
export function tellMisspelt(base: object, made: Named): void {
  const members = Object.entries(Object.getOwnPropertyDescriptors(made.prototype as object));
  const methods = members.filter(([, member]) => typeof member.value === 'function').map(([name]) => name);
  const get = (target: object, name: string | symbol, block: unknown): unknown => {
    const found: unknown = Reflect.get(target, name, block);
    if (found !== undefined || typeof name !== 'string' || !(block instanceof made)) return found;
    // `steps` is a key of actions, which is asked of whatever stands for one.
    const meant = name === 'steps' ? undefined : nearest(name, methods);
    if (meant === undefined) return undefined;
    return () => {
      throw new TypeError(`sequencer "${block.name}" has no method ${name}(); did you mean ${meant}()?`);
    };
  };
  Object.setPrototypeOf(base, new Proxy(Object.prototype, { get }));
}
