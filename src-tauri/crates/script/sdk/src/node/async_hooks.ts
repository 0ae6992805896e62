// node:async_hooks: what code carries along through its `await`s without handing it on.
//
// Must not: watch promises. The token that every promise carries anyway carries this, too (ARCHITECTURE §8.2).

import { carried, carry, codeThat, currentCode, currentToken, runAs } from '../base/host';

type Fn = (...args: never[]) => unknown;
type Stores = ReadonlyMap<object, unknown>;

const NONE: Stores = new Map();
const stores = (): Stores => (carried() as Stores | undefined) ?? NONE;

function withStore(key: object, store: unknown): Stores {
  return new Map(stores()).set(key, store);
}

const runCarrying = <T>(carries: Stores, body: () => T): T => runAs(codeThat(carries, currentToken()), body);

/** A function that goes on with what is carried where it was bound, as the block that calls it. */
function bound<F extends Fn>(fn: F): F {
  const kept = stores();
  return function (this: unknown, ...args: never[]) {
    return runCarrying(kept, () => fn.apply(this, args));
  } as F;
}

export class AsyncLocalStorage<T = unknown> {
  declare readonly name: string;
  declare private readonly usual: T | undefined;

  constructor(options: { defaultValue?: T; name?: string } = {}) {
    this.name = options.name ?? '';
    this.usual = options.defaultValue;
  }

  static bind<F extends Fn>(fn: F): F {
    return bound(fn);
  }

  static snapshot(): (fn: Fn, ...args: never[]) => unknown {
    return bound((fn: Fn, ...args: never[]) => fn(...args));
  }

  getStore(): T | undefined {
    const all = stores();
    return all.has(this) ? (all.get(this) as T | undefined) : this.usual;
  }

  run<R>(store: T, fn: (...args: never[]) => R, ...args: never[]): R {
    return runCarrying(withStore(this, store), () => fn(...args));
  }

  exit<R>(fn: (...args: never[]) => R, ...args: never[]): R {
    return runCarrying(withStore(this, undefined), () => fn(...args));
  }

  enterWith(store: T): void {
    carry(withStore(this, store));
  }

  disable(): void {
    const left = new Map(stores());
    left.delete(this);
    carry(left);
  }
}

export class AsyncResource {
  declare readonly type: string;
  declare private readonly kept: Stores;

  constructor(type: string) {
    this.type = type;
    this.kept = stores();
  }

  static bind<F extends Fn>(fn: F): F {
    return bound(fn);
  }

  bind<F extends Fn>(fn: F): F {
    return this.runInAsyncScope(() => bound(fn));
  }

  runInAsyncScope<R>(fn: (...args: never[]) => R, self?: unknown, ...args: never[]): R {
    return runCarrying(this.kept, () => fn.apply(self, args));
  }

  emitDestroy(): this {
    return this;
  }
}

/** A number that tells code that carries something from other code. */
export const executionAsyncId = (): number => Math.abs(currentCode());

export default { AsyncLocalStorage, AsyncResource, executionAsyncId };
