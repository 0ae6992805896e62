// `ctx.emit`: items that an author's function makes.
//
// Must not: wait for anything. An item is evidence; only what was given wrong is refused, where it was given.

import { checkComponent, checkContent, checkEmitOptions, checkStatus } from './ctx-arguments';
import { withIdentity } from '../define/identity';
import { tell } from '../define/known-keys';
import { warnOfOthers } from '../define/nested-keys';
import { askerBy, native } from '../base/host';
import { toJson } from '../base/values';

type Json = Record<string, unknown>;

/**
 * What an emitted item can still become. Nothing needs to be done with it: every item is done at once. A function that
 * ends with an emit gives this away, which is nothing to store.
 */
class Emitted {
  readonly #replace: (next: unknown) => void;

  constructor(replace: (next: unknown) => void) {
    this.#replace = replace;
  }

  /** Replaces the data of a component, or the text of a status. */
  update(next: unknown): this {
    this.#replace(next);
    return this;
  }

  done(): void {}

  toJSON(): undefined {
    return undefined;
  }
}

const COMMON = ['agentType', 'itemVisibility', 'agentName', 'transient', 'key'];
const OPTIONS: Record<string, readonly string[]> = {
  message: COMMON,
  component: COMMON,
  status: [...COMMON, 'blocked', 'backgroundTasks'],
};

export function emitters(token: number) {
  const emit = (kind: string, payload: Json, given: unknown): string | undefined => {
    const options = withIdentity(given, `ctx.emit.${kind}`);
    checkEmitOptions(options, `ctx.emit.${kind}`);
    if (options !== undefined) warnOfOthers(options, OPTIONS[kind] ?? COMMON, `ctx.emit.${kind}`, 'option of it', tell);
    return native.sync(
      'emit',
      askerBy(token),
      toJson({ kind, ...payload, options: options ?? {} }, `ctx.emit.${kind}`) as string,
    );
  };
  return {
    message: (content: unknown, options?: unknown) => {
      checkContent(content);
      emit('message', { content }, options);
      return new Emitted(() => {
        throw new Error('ctx.emit.message: what was said cannot be changed; emit another message');
      });
    },
    component: (name: string, data?: unknown, options?: unknown) => {
      checkComponent(name);
      const item = emit('component', { name, data: data ?? null }, options);
      const isKeyed = (options as Json | undefined)?.key !== undefined;
      return new Emitted((next) => {
        if (isKeyed) return void emit('component', { name, data: next ?? null }, options);
        native.sync('emit.update', token, `[${item},${toJson(next ?? null, 'update of a component')}]`);
      });
    },
    status: (message?: string, options?: unknown) => {
      checkStatus(message);
      emit('status', { message }, options);
      return new Emitted((next) => {
        checkStatus(next);
        emit('status', { message: next }, options);
      });
    },
  };
}
