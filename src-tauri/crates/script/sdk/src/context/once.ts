// `ctx.runOnce(key, fn)`: a side effect whose answer is kept, so that no resume repeats it.
//
// It happens at least once: the log has its beginning before the function is called, and its answer before
// anybody gets it. If the process dies in between, it may have happened, and a resume calls the function again.
// A failure is no answer (SEMANTICS §8.4).

import { ask, askJson, native, wire } from '../base/host';
import { encodeError } from '../base/thrown';
import { toJson } from '../base/values';

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
  const isKnown = native.sync('hasOnce', token, JSON.stringify(key)) !== undefined;
  if (isKnown) return answerOf(await ask(token, 'once', key));
  const begun = JSON.parse(await ask(token, 'beginOnce', key)) as object;
  let json: string | undefined;
  try {
    json = toJson(await fn(), `ctx.runOnce("${key}")`);
  } catch (error) {
    // Where the block has ended meanwhile, nobody keeps how it went; what was thrown tells more than that.
    await ask(token, 'endOnce', { key, begun, error: JSON.parse(encodeError(error)) as object }).catch(() => undefined);
    throw error;
  }
  await askJson(token, 'endOnce', `{"key":${wire(key)},"begun":${wire(begun)},"answer":[${json ?? ''}]}`);
  return json === undefined ? undefined : (JSON.parse(json) as unknown);
}

/** An answer is a list of one value, or of none for `undefined`. */
function answerOf(recorded: string): unknown {
  return (JSON.parse(recorded) as unknown[])[0];
}
