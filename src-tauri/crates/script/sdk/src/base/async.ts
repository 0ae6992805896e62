// What `async` functions of flows, packages and this SDK become: the bundler lowers them to generators.
//
// Takes the place of the bundler's own helper, which would pay for the token at every `await`.

import { drive } from './host';
import { lowers, SOURCE } from './sources';

/** What the bundler writes at the beginning of every `catch` of a flow. */
export { caught } from './host';

export default function asyncToGenerator(
  body: (...args: never[]) => Generator,
): (...args: never[]) => Promise<unknown> {
  return function (this: unknown) {
    return this === SOURCE ? (body as never) : drive(body, this, arguments);
  };
}

lowers(asyncToGenerator(function* () {}));
