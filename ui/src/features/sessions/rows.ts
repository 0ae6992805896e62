// Sessions by days and, below the open one, its requests: one flat list of rows.
import { rows as rowSize } from '../../base/density.svelte';
import { dayName } from '../../base/time';
import type { ListedRequest, ListedSession } from '../../host/host';
import { about } from '../../model/session';

export type Row =
  | { is: 'day'; id: string; name: string }
  | { is: 'session'; id: string; session: ListedSession; open: boolean }
  | { is: 'request'; id: string; request: ListedRequest }
  | { is: 'more requests'; id: string; left: number }
  | { is: 'more'; id: string };

const HEIGHTS: Record<Row['is'], number> = { day: 26, session: 44, request: 28, 'more requests': 30, more: 32 };

/** How high a row is; the names of days are no rows, and keep their height. */
export const heightOf = (is: Row['is']): number => (is === 'day' ? HEIGHTS.day : rowSize.height(HEIGHTS[is]));

/** What a person reads in the row of a session, and when it was last used. */
export const lookOfRow = (session: ListedSession) => ({
  id: session.id,
  looks: [
    session.flow,
    session.lastAction,
    about(session),
    session.lastError?.message,
    session.lastStatus,
    session.forkedFrom != null,
    session.requests,
  ].join('\n'),
  at: session.updatedAt,
});

type Requests = { rows: readonly ListedRequest[] | null; hasMore: boolean };
/** `dayOf` names the time by which sessions are put under days; without it they are not. */
type Order = { hasMore: boolean; now: number; dayOf: ((session: ListedSession) => number) | null };

export function rowsOf(
  sessions: readonly ListedSession[],
  open: string | null,
  requests: Requests,
  { hasMore, now, dayOf }: Order,
): Row[] {
  const rows: Row[] = [];
  let day = '';
  for (const session of sessions) {
    const name = dayOf ? dayName(dayOf(session), now) : '';
    if (name !== day) rows.push({ is: 'day', id: `day ${name}`, name });
    day = name;
    const isOpen = session.id === open;
    rows.push({ is: 'session', id: `session ${session.id}`, session, open: isOpen });
    // The one request of a session is the session.
    if (!isOpen || (session.requests === 1 && (requests.rows?.length ?? 0) <= 1)) continue;
    const known = requests.rows ?? [];
    for (const request of known) rows.push({ is: 'request', id: `request ${request.id}`, request });
    const left = Math.max(0, session.requests - known.length);
    if (requests.hasMore) rows.push({ is: 'more requests', id: 'more requests', left });
  }
  if (hasMore) rows.push({ is: 'more', id: 'more' });
  return rows;
}
