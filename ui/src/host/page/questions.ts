// The questions that a recorded request waits with: they are events, and a page has no list of them.
import type { EventRow, SuspensionRow } from '../host';

/** So many events are read at a time, from the end. */
const AT_ONCE = 500;
/** Questions further back than this are not looked for. */
const MAX_EVENTS = 5_000;

type Asked = Pick<SuspensionRow, 'id' | 'reason' | 'message' | 'data' | 'resumeSchema' | 'render' | 'allow'>;

/** The questions without an answer, newest first. */
export async function openQuestions(
  request: { id: string; sessionId: string; status: string },
  last: number,
  events: (id: string, from: number, limit: number) => Promise<EventRow[]>,
): Promise<SuspensionRow[]> {
  if (request.status !== 'suspended') return [];
  const [found, answered] = [new Map<string, SuspensionRow>(), new Set<string>()];
  for (let end = last; end > 0 && end > last - MAX_EVENTS; end -= AT_ONCE) {
    const from = Math.max(1, end - AT_ONCE + 1);
    const read = await events(request.id, from, end - from + 1);
    for (const event of read.toReversed()) {
      const payload = event.payload as unknown as Asked;
      if (event.kind === 'suspension_resolved') answered.add(payload.id);
      if (event.kind !== 'suspended' || answered.has(payload.id) || found.has(payload.id)) continue;
      const { id, reason, message, data, resumeSchema, render, allow } = payload;
      const asked = { id, reason, message, data, resumeSchema, render, allow: allow ?? [] };
      const at = { path: event.path ?? '', seq: event.seq, createdAt: event.at, status: 'pending' as const };
      found.set(id, { ...asked, ...at, requestId: request.id, sessionId: request.sessionId });
    }
  }
  return [...found.values()];
}
