// What a block sends by calling a function: each time a request of its own, and none twice (SEMANTICS §1.8).
//
// Must not: throw a refusal, or wait for what was sent.

import { describeValue } from '../base/arguments';
import type { Config } from '../define/blocks';
import { DispatchRefusedError } from '../base/errors';
import { askJson, native } from '../base/host';
import { toJson } from '../base/values';
import { runOnce } from './once';

interface Sent {
  sessionId: string;
  requestId: string;
  adopted: boolean;
  refused?: undefined;
}
type Told = Sent | { refused: string; detail: string };

/** What is sent next, by the engine's count: taken in the order of the calls, before anything is waited for. */
export const nextPlace = (token: number): string => native.sync('send', token, '') as string;

/**
 * What is sent has a place, so that a retry and a resume find what was sent before. A refusal is kept as a failure,
 * which is no answer: a retry asks again.
 */
export async function sendOnce(token: number, spec: Config, what: string, place = nextPlace(token)): Promise<Told> {
  const once = `send ${place}`;
  const asked = toJson({ ...spec, place, once }, what) as string;
  try {
    const sent = await runOnce(token, once, async () => {
      const told = JSON.parse(await askJson(token, 'dispatch', asked)) as Told;
      if (told.refused === undefined) return told;
      const address = { type: spec.type as string, target: spec.target as string };
      throw new DispatchRefusedError(String(spec.from), address, told.refused, told.detail);
    });
    return sent as Sent;
  } catch (error) {
    if (!(error instanceof DispatchRefusedError)) throw error;
    return { refused: error.refused, detail: error.detail };
  }
}

/** What `dispatchThroughSeam` finds in a context: how packages start an entry that make blocks of their own for it. */
export function seamOf(token: number): (spec: unknown) => Promise<object> {
  return async (given) => {
    const { action, target = action, type = 'internal', flowKind, session, payload, from } = (given ?? {}) as Config;
    if (typeof target !== 'string' || (type !== 'internal' && type !== 'task')) {
      throw new TypeError(`dispatchThroughSeam sends to an internal or a task entry, got ${describeValue(given)}`);
    }
    const spec = { type, target, flowKind, session, payload, from: String(from ?? target) };
    const told = await sendOnce(token, spec, `the payload of "${spec.from}"`);
    if (told.refused !== undefined) return { ok: false, refused: told.refused, detail: told.detail };
    return { ok: true, sessionId: told.sessionId, requestId: told.requestId, adopted: told.adopted };
  };
}
