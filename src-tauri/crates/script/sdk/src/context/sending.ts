// What a block sends by calling a function: each time a request of its own, and none twice (SEMANTICS §1.8).
//
// Must not: throw a refusal, or wait for what was sent.

import { describeValue } from '../base/arguments';
import type { Config } from '../define/blocks';
import { askJson } from '../base/host';
import { toJson } from '../base/values';
import { runOnce } from './once';

interface Told {
  sessionId: string;
  requestId: string;
  adopted: boolean;
  refused?: string;
  detail?: string;
}

/** How much each block has sent: a resume finds each again by its number. */
const sent = new Map<string, number>();

/** `place` is the request and the path of the block that sends. */
export async function sendOnce(token: number, place: string, spec: Config, what: string): Promise<Told> {
  const number = sent.get(place) ?? 0;
  sent.set(place, number + 1);
  const asked = toJson({ ...spec, place: `${place} ${number}` }, what) as string;
  const told = await runOnce(token, `send ${place} ${number}`, async () =>
    JSON.parse(await askJson(token, 'dispatch', asked)),
  );
  return told as Told;
}

/** What `dispatchThroughSeam` finds in a context: how packages start an entry that make blocks of their own for it. */
export function seamOf(token: number, place: () => string): (spec: unknown) => Promise<object> {
  return async (given) => {
    const { action, target = action, type = 'internal', flowKind, session, payload, from } = (given ?? {}) as Config;
    if (typeof target !== 'string' || (type !== 'internal' && type !== 'task')) {
      throw new TypeError(`dispatchThroughSeam sends to an internal or a task entry, got ${describeValue(given)}`);
    }
    const spec = { type, target, flowKind, session, payload, from: String(from ?? target) };
    const told = await sendOnce(token, place(), spec, `the payload of "${spec.from}"`);
    const { refused, detail = '', sessionId, requestId, adopted } = told;
    return refused === undefined ? { ok: true, sessionId, requestId, adopted } : { ok: false, refused, detail };
  };
}
