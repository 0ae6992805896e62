// `ctx.requestHost.sendMessage(…)`: a message to another session of the same user and flow (SEMANTICS §1.8).
//
// Must not: throw a refusal, or wait for what the message leads to.

import { describeValue } from '../base/arguments';
import { mappingOf, relayTarget } from '../define/relay';
import { nextPlace, sendOnce } from './sending';

interface Sender {
  session: string;
  /** Whether the session was made for the one request: nobody could answer to it. */
  ephemeral: boolean;
}

/** Refusals of a dispatch, by what they are to a message. */
const REFUSALS: Record<string, string> = {
  'session-not-found': 'unknown-recipient',
  'session-not-addressable': 'unknown-recipient',
  'no-entry': 'no-relay-door',
  'dispatch-rejected': 'recipient-busy',
};

const refusal = (refused: string, detail: string) => ({ ok: false, outcome: 'refused', refused, detail });

export function requestHost(token: number, sender: () => Sender): object {
  return { sendMessage: (message: unknown) => send(token, sender(), message) };
}

async function send(token: number, { session, ephemeral }: Sender, message: unknown): Promise<object> {
  if (typeof message !== 'object' || message === null) {
    throw new TypeError(`sendMessage needs { to, kind, payload }, got ${describeValue(message)}`);
  }
  const { to, kind, payload, mode = 'fireAndForget' } = message as Record<string, unknown>;
  if (mode !== 'fireAndForget') return refusal('mode-not-available', 'a message is not waited for');
  if (ephemeral) return refusal('no-durable-sender', 'name the session of the sender');
  if (typeof to !== 'string' || to === '') return refusal('unknown-recipient', `"to" is ${describeValue(to)}`);
  const map = typeof kind === 'string' ? mappingOf(kind) : undefined;
  if (!map) return refusal('no-relay-door', `the flow takes no message ${describeValue(kind)}`);
  const place = nextPlace(token);
  const input = await map({ kind: kind as string, payload, from: session });
  const spec = {
    type: 'internal',
    target: relayTarget(kind as string),
    session: { id: to },
    payload: input,
    from: kind,
  };
  const told = await sendOnce(token, spec, `the message "${kind as string}"`, place);
  if (told.refused !== undefined) return refusal(REFUSALS[told.refused] ?? told.refused, told.detail);
  return { ok: true, outcome: 'accepted', deliveryRequestId: told.requestId };
}
