// `ctx.runOnce(key, fn)`: a side effect that happens once in a request, however often it is resumed.
//
// The answer is in the log before anybody gets it; a failure is no answer (core-semantics §2.12).

import { askJson, native, wire } from './host';
import { toJson } from './values';

/** Answers and runs under way, by key; one runtime is one request. */
const known = new Map<string, Promise<unknown>>();

export function runOnce(token: number, key: unknown, fn: unknown): Promise<unknown> {
  if (typeof key !== 'string' || key === '') {
    return Promise.reject(new TypeError('ctx.runOnce needs a non-empty text as its key'));
  }
  if (typeof fn !== 'function') return Promise.reject(new TypeError(`ctx.runOnce("${key}") needs a function`));
  const found = known.get(key);
  if (found) return found;
  const running = run(token, key, fn as () => unknown);
  known.set(key, running);
  running.catch(() => known.delete(key));
  return running;
}

async function run(token: number, key: string, fn: () => unknown): Promise<unknown> {
  const recorded = native.sync('once', token, JSON.stringify(key));
  if (recorded !== undefined) return answerOf(recorded);
  const json = toJson(await fn(), `ctx.runOnce("${key}")`);
  await askJson(token, 'once', `{"key":${wire(key)},"answer":[${json ?? ''}]}`);
  return json === undefined ? undefined : (JSON.parse(json) as unknown);
}

/** An answer is a list of one value, or of none for `undefined`. */
function answerOf(recorded: string): unknown {
  return (JSON.parse(recorded) as unknown[])[0];
}
