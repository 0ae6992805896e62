// State as flows see it: a view that cannot be changed, and the operations that do.
//
// State is read through a deeply read-only view, so that a forgotten `await ctx.x.patchState` shows
// up as an error and not as a change that nobody recorded (ARCHITECTURE §3.10).

import { describeValue } from '../base/arguments';
import { needName } from './ctx-arguments';
import { functionId } from '../define/tables';
import { askChange, askerBy, native, sound } from '../base/host';
import { fillIn, type LongLists } from './long-lists';
import { toJson } from '../base/values';
import { hide } from '../base/shown';
import { isViewOf } from '../base/views';

type Json = Record<string, unknown>;

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
      isViewOf(proxy, target);
    }
    return proxy;
  };
  return wrap(value);
}

/** Asks for a change of a resource. */
export function change(token: number, target: string, operation: Json): Promise<string> {
  return askChange(askerBy(token), sound(JSON.stringify({ target, ...operation })), (answer) => answer);
}

const isChanged = (answer: string) => answer === 'true';

/** `fields` makes the rest of the operation's JSON; what is wrong with its arguments rejects. */
function apply(handle: StateHandle, op: string, fields: () => string): Promise<boolean> {
  const { target } = handle[WHOSE];
  const token = askerOf(handle);
  try {
    const rest = sound(`"op":"${op}",${fields()}}`);
    // Most changes wait for nobody; the others are asked for, and answered later.
    const answer = native.sync('apply', token, `{${rest}\n${target}`);
    if (answer !== undefined) return Promise.resolve(isChanged(answer));
    return askChange(token, `{"target":${JSON.stringify(target)},${rest}`, isChanged);
  } catch (error) {
    return Promise.reject(error);
  }
}

const PLAIN = Object.prototype;

/** Makes a change right away, if its fields are so plain that nothing about them needs a closer look. */
function atOnce(handle: StateHandle, op: 'patch' | 'increment', fields: unknown): Promise<boolean> | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const { target } = handle[WHOSE];
  const token = askerOf(handle);
  const isChanged = native[op](token, target, fields, PLAIN);
  return isChanged === undefined ? undefined : Promise.resolve(isChanged);
}

function jsonOf(handle: StateHandle, operation: string, value: unknown): string {
  return toJson(value, `${handle[WHOSE].label}.${operation}`) ?? 'null';
}

function fieldsOf(handle: StateHandle, operation: string, value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${handle[WHOSE].label}.${operation} needs an object, got ${describeValue(value)}`);
  }
  return jsonOf(handle, operation, value);
}

function nameOf(handle: StateHandle, operation: string, field: unknown): string {
  return JSON.stringify(needName(field, `${handle[WHOSE].label}.${operation}`, 'field'));
}

function keyOf(handle: StateHandle, operation: string, key: unknown): string {
  return JSON.stringify(needName(key, `${handle[WHOSE].label}.${operation}`, 'key'));
}

/** Whose state a handle is. Not private fields: those are lowered to maps, and a handle is made for every call. */
export const WHOSE = Symbol('whose');
hide(WHOSE);

interface Whose {
  token: number;
  target: string;
  label: string;
  /** What was read last: a stamp that changes with the state, and the view of it. */
  stamp: string;
  view: unknown;
}

/** What is only found from the block that the handle was made for. */
const RELATIVES = ['sequencer', 'self', 'parent'];

function askerOf(handle: StateHandle): number {
  const { token, target } = handle[WHOSE];
  return RELATIVES.includes(target) ? token : askerBy(token);
}

/** Values that blocks compute now, by block, target and field. */
const computing = new Map<string, Promise<unknown>>();

/** One scope's state and its seven operations (SEMANTICS §4.2). */
export class StateHandle {
  declare readonly [WHOSE]: Whose;

  constructor(token: number, target: string, label: string) {
    this[WHOSE] = { token, target, label, stamp: '', view: undefined };
  }

  get state(): unknown {
    const whose = this[WHOSE];
    const token = askerOf(this);
    const answer = native.sync('read', token, JSON.stringify([whose.target, whose.stamp]));
    if (answer === undefined) return whose.view ?? {};
    const [stamp, fields, lists] = answer.split('\n') as [string, string, string?];
    whose.stamp = stamp;
    const state = JSON.parse(fields) as object;
    if (lists !== undefined) {
      const load = (field: string, chunk: number) =>
        native.sync('chunk', token, JSON.stringify([whose.target, field, chunk])) as string;
      fillIn(state, JSON.parse(lists) as LongLists, load);
    }
    const view = readOnly(state, whose.label);
    whose.view = view;
    return view;
  }

  patchState(first: unknown, updater?: unknown): Promise<boolean> {
    if (typeof first === 'string') {
      if (typeof updater !== 'function') return Promise.resolve(false);
      return apply(this, 'update', () => `"field":${JSON.stringify(first)},"updater":${functionId(updater)}`);
    }
    return (
      atOnce(this, 'patch', first) ?? apply(this, 'patch', () => `"fields":${fieldsOf(this, 'patchState', first)}`)
    );
  }

  /** With a field's name: that field alone, an older spelling of `patchState({ [field]: value })`. */
  setState(next: unknown, value?: unknown): Promise<boolean> {
    if (typeof next === 'string') {
      return apply(this, 'patch', () => `"fields":${fieldsOf(this, 'setState', { [next]: value ?? null })}`);
    }
    return apply(this, 'set', () => `"state":${fieldsOf(this, 'setState', next)}`);
  }

  incState(by: unknown): Promise<boolean> {
    return (
      atOnce(this, 'increment', by) ??
      apply(this, 'increment', () => {
        const fields = fieldsOf(this, 'incState', by);
        // What JSON makes of a value counts; of a number it makes a number.
        for (const [field, amount] of Object.entries(JSON.parse(fields) as Json)) {
          if (typeof amount !== 'number')
            throw new TypeError(
              `${this[WHOSE].label}.incState: "${field}" needs a number, got ${describeValue(amount)}`,
            );
        }
        return `"by":${fields}`;
      })
    );
  }

  pushState(field: string, value: unknown): Promise<boolean> {
    return apply(
      this,
      'push',
      () => `"field":${nameOf(this, 'pushState', field)},"value":${jsonOf(this, 'pushState', value)}`,
    );
  }

  setStateRecord(field: string, key: string, value: unknown): Promise<boolean> {
    return apply(this, 'set_record', () => {
      const json = jsonOf(this, 'setStateRecord', value);
      const name = nameOf(this, 'setStateRecord', field);
      return `"field":${name},"key":${keyOf(this, 'setStateRecord', key)},"value":${json}`;
    });
  }

  deleteStateRecord(field: string, key: string): Promise<boolean> {
    return apply(
      this,
      'delete_record',
      () => `"field":${nameOf(this, 'deleteStateRecord', field)},"key":${keyOf(this, 'deleteStateRecord', key)}`,
    );
  }

  /** A field's value, or what `compute` gives, which is kept there. Who asks meanwhile gets the same. */
  async getOrPatchState(field: string, compute: unknown): Promise<unknown> {
    const where = `${this[WHOSE].label}.getOrPatchState`;
    const known = (this.state as Json)[needName(field, where, 'field')];
    if (known !== undefined) return known;
    if (typeof compute !== 'function') throw new TypeError(`${where} needs a function, got ${describeValue(compute)}`);
    const key = `${this[WHOSE].token} ${this[WHOSE].target} ${field}`;
    const running = computing.get(key) ?? this.computed(field, compute as () => unknown);
    computing.set(key, running);
    try {
      return await running;
    } finally {
      computing.delete(key);
    }
  }

  private async computed(field: string, compute: () => unknown): Promise<unknown> {
    const value = await compute();
    if (value !== undefined) await this.patchState({ [field]: value });
    return value;
  }

  atomicState(mutator: unknown): Promise<boolean> {
    return apply(this, 'atomic', () => {
      if (typeof mutator !== 'function')
        throw new TypeError(`${this[WHOSE].label}.atomicState needs a function, got ${describeValue(mutator)}`);
      return `"mutator":${functionId(mutator)}`;
    });
  }
}

export function handle(token: number, target: string, label: string, extra: object): StateHandle {
  return Object.defineProperties(new StateHandle(token, target, label), Object.getOwnPropertyDescriptors(extra));
}
