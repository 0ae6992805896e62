// `ctx.emit`: items that an author's function makes.
//
// Must not: wait for anything. An item is evidence; only what was given wrong is refused, where it was given.

import { checkComponent, checkContent, checkEmitOptions, checkStatus } from './ctx-arguments';
import { native } from '../base/host';
import { toJson } from '../base/values';

type Json = Record<string, unknown>;

export function emitters(token: number) {
  const emit = (kind: string, payload: Json, options: unknown) => {
    checkEmitOptions(options, `ctx.emit.${kind}`);
    native.sync('emit', token, toJson({ kind, ...payload, options: options ?? {} }, `ctx.emit.${kind}`) as string);
  };
  return {
    message: (content: unknown, options?: unknown) => {
      checkContent(content);
      emit('message', { content }, options);
    },
    component: (name: string, data?: unknown, options?: unknown) => {
      checkComponent(name);
      emit('component', { name, data: data ?? null }, options);
    },
    status: (message?: string, options?: unknown) => {
      checkStatus(message);
      emit('status', { message }, options);
    },
  };
}
