// State as flows see it: a view that cannot be changed, and the operations that do.
//
// State is read through a deeply read-only view, so that a forgotten `await ctx.x.patchState` shows
// up as an error and not as a change that nobody recorded (decision 17).

import { describeValue } from './arguments';
import { needName } from './ctx-arguments';
import { functionId } from './tables';
import { askChange, native } from './host';
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

/** Asks for a change of a resource. */
export function change(token: number, target: string, operation: Json): Promise<string> {
  return askChange(token, JSON.stringify({ target, ...operation }), (answer) => answer);
}

const isChanged = (answer: string) => answer === 'true';

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

  /** `fields` makes the rest of the operation's JSON; what is wrong with its arguments rejects. */
  #apply(op: string, fields: () => string): Promise<boolean> {
    try {
      return askChange(this.#token, `{"target":${JSON.stringify(this.#target)},"op":"${op}",${fields()}}`, isChanged);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #json(operation: string, value: unknown): string {
    return toJson(value, `${this.#label}.${operation}`) ?? 'null';
  }

  #fields(operation: string, value: unknown): string {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new TypeError(`${this.#label}.${operation} needs an object, got ${describeValue(value)}`);
    }
    return this.#json(operation, value);
  }

  #name(operation: string, field: unknown): string {
    return JSON.stringify(needName(field, `${this.#label}.${operation}`, 'field'));
  }

  #key(operation: string, key: unknown): string {
    return JSON.stringify(needName(key, `${this.#label}.${operation}`, 'key'));
  }

  patchState(first: unknown, updater?: unknown): Promise<boolean> {
    if (typeof first === 'string') {
      if (typeof updater !== 'function') return Promise.resolve(false);
      return this.#apply('update', () => `"field":${JSON.stringify(first)},"updater":${functionId(updater)}`);
    }
    return this.#apply('patch', () => `"fields":${this.#fields('patchState', first)}`);
  }

  setState(next: unknown): Promise<boolean> {
    return this.#apply('set', () => `"state":${this.#fields('setState', next)}`);
  }

  incState(by: unknown): Promise<boolean> {
    return this.#apply('increment', () => {
      const fields = this.#fields('incState', by);
      for (const [field, amount] of Object.entries(JSON.parse(fields) as Json)) {
        if (typeof amount !== 'number') throw new TypeError(`${this.#label}.incState: "${field}" needs a number, got ${describeValue(amount)}`);
      }
      return `"by":${fields}`;
    });
  }

  pushState(field: string, value: unknown): Promise<boolean> {
    return this.#apply('push', () => `"field":${this.#name('pushState', field)},"value":${this.#json('pushState', value)}`);
  }

  setStateRecord(field: string, key: string, value: unknown): Promise<boolean> {
    return this.#apply('set_record', () => {
      const json = this.#json('setStateRecord', value);
      const name = this.#name('setStateRecord', field);
      return `"field":${name},"key":${this.#key('setStateRecord', key)},"value":${json}`;
    });
  }

  deleteStateRecord(field: string, key: string): Promise<boolean> {
    return this.#apply('delete_record', () => `"field":${this.#name('deleteStateRecord', field)},"key":${this.#key('deleteStateRecord', key)}`);
  }

  atomicState(mutator: unknown): Promise<boolean> {
    return this.#apply('atomic', () => {
      if (typeof mutator !== 'function') throw new TypeError(`${this.#label}.atomicState needs a function, got ${describeValue(mutator)}`);
      return `"mutator":${functionId(mutator)}`;
    });
  }
}

export function handle(token: number, target: string, label: string, extra: object): StateHandle {
  return Object.defineProperties(new StateHandle(token, target, label), Object.getOwnPropertyDescriptors(extra));
}
