// State as flows see it: a view that cannot be changed, and the operations that do.
//
// State is read through a deeply read-only view, so that a forgotten `await ctx.x.patchState` shows
// up as an error and not as a change that nobody recorded (decision 17).

import { describeValue } from './arguments';
import { needName } from './ctx-arguments';
import { functionId } from './tables';
import { ask, native } from './host';
import { toJson } from './values';

type Json = Record<string, unknown>;

/** What each context has read, by handle: a stamp that changes with the state, and the view of it. */
const views = new Map<number, Map<string, { stamp: string; view: unknown }>>();

export function forgetViews(token: number): void {
  views.delete(token);
}

function readOnly(value: object, label: string): object {
  const wrapped = new WeakMap<object, object>();
  const refuse = (): never => {
    throw new TypeError(`${label}.state is read-only: use await ${label}.patchState({ … }) or another state operation`);
  };
  const wrap = (target: object): object => {
    let proxy = wrapped.get(target);
    if (!proxy) {
      proxy = new Proxy(target, {
        get(inner, key) {
          const found: unknown = Reflect.get(inner, key);
          return typeof found === 'object' && found !== null ? wrap(found) : found;
        },
        set: refuse,
        deleteProperty: refuse,
        defineProperty: refuse,
        setPrototypeOf: refuse,
      });
      wrapped.set(target, proxy);
    }
    return proxy;
  };
  return wrap(value);
}

/** Asks for a change. A refusal points to the line that asked. */
export function change(token: number, target: string, operation: Json): Promise<string> {
  // The engine's refusal comes later and from elsewhere; the author looks for the line that asked.
  const asked = new Error();
  return ask(token, 'apply', { target, ...operation }).catch((error: Error) => {
    error.stack ||= asked.stack ?? '';
    throw error;
  });
}

/** One scope's state and its seven operations (core-semantics §4.1). */
export class StateHandle {
  readonly #token: number;
  readonly #target: string;
  readonly #label: string;

  constructor(token: number, target: string, label: string) {
    this.#token = token;
    this.#target = target;
    this.#label = label;
  }

  get state(): unknown {
    const known = views.get(this.#token)?.get(this.#target);
    const answer = native.sync('read', this.#token, JSON.stringify([this.#target, known?.stamp ?? '']));
    if (answer === undefined) return known?.view ?? {};
    const cut = answer.indexOf('\n');
    const view = readOnly(JSON.parse(answer.slice(cut + 1)) as object, this.#label);
    if (!views.has(this.#token)) views.set(this.#token, new Map());
    views.get(this.#token)?.set(this.#target, { stamp: answer.slice(0, cut), view });
    return view;
  }

  #apply(operation: Json): Promise<boolean> {
    return change(this.#token, this.#target, operation).then((answer) => answer === 'true');
  }

  #plain(operation: string, value: unknown): unknown {
    const json = toJson(value, `${this.#label}.${operation}`);
    return json === undefined ? undefined : (JSON.parse(json) as unknown);
  }

  #fields(operation: string, value: unknown): Json {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new TypeError(`${this.#label}.${operation} needs an object, got ${describeValue(value)}`);
    }
    return this.#plain(operation, value) as Json;
  }

  #name(operation: string, field: unknown): string {
    return needName(field, `${this.#label}.${operation}`, 'field');
  }

  #key(operation: string, key: unknown): string {
    return needName(key, `${this.#label}.${operation}`, 'key');
  }

  async patchState(first: unknown, updater?: unknown): Promise<boolean> {
    if (typeof first === 'string') {
      if (typeof updater !== 'function') return false;
      return this.#apply({ op: 'update', field: first, updater: functionId(updater) });
    }
    return this.#apply({ op: 'patch', fields: this.#fields('patchState', first) });
  }

  async setState(next: unknown): Promise<boolean> {
    return this.#apply({ op: 'set', state: this.#fields('setState', next) });
  }

  async incState(by: unknown): Promise<boolean> {
    const fields = this.#fields('incState', by);
    for (const [field, amount] of Object.entries(fields)) {
      if (typeof amount !== 'number') throw new TypeError(`${this.#label}.incState: "${field}" needs a number, got ${describeValue(amount)}`);
    }
    return this.#apply({ op: 'increment', by: fields });
  }

  async pushState(field: string, value: unknown): Promise<boolean> {
    return this.#apply({ op: 'push', field: this.#name('pushState', field), value: this.#plain('pushState', value) ?? null });
  }

  async setStateRecord(field: string, key: string, value: unknown): Promise<boolean> {
    const plain = this.#plain('setStateRecord', value) ?? null;
    const name = this.#name('setStateRecord', field);
    return this.#apply({ op: 'set_record', field: name, key: this.#key('setStateRecord', key), value: plain });
  }

  async deleteStateRecord(field: string, key: string): Promise<boolean> {
    const name = this.#name('deleteStateRecord', field);
    return this.#apply({ op: 'delete_record', field: name, key: this.#key('deleteStateRecord', key) });
  }

  async atomicState(mutator: unknown): Promise<boolean> {
    if (typeof mutator !== 'function') throw new TypeError(`${this.#label}.atomicState needs a function, got ${describeValue(mutator)}`);
    return this.#apply({ op: 'atomic', mutator: functionId(mutator) });
  }
}

export function handle(token: number, target: string, label: string, extra: object): StateHandle {
  return Object.defineProperties(new StateHandle(token, target, label), Object.getOwnPropertyDescriptors(extra));
}
