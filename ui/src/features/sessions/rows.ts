// Sessions and, below the open one, its requests: one flat list of rows of one height.
import type { RequestRow, SessionRow } from '../../host/host';

export type Row =
  | { is: 'session'; id: string; session: SessionRow; open: boolean }
  | { is: 'request'; id: string; request: RequestRow }
  | { is: 'more requests'; id: string; left: number }
  | { is: 'more'; id: string };

export function rowsOf(
  sessions: readonly SessionRow[],
  open: string | null,
  requests: { rows: readonly RequestRow[] | null; hasMore: boolean },
  hasMore: boolean,
): Row[] {
  const rows: Row[] = [];
  for (const session of sessions) {
    const isOpen = session.id === open;
    rows.push({ is: 'session', id: `session ${session.id}`, session, open: isOpen });
    if (!isOpen) continue;
    const known = requests.rows ?? [];
    for (const request of known) rows.push({ is: 'request', id: `request ${request.id}`, request });
    const left = Math.max(0, session.requests - known.length);
    if (requests.hasMore) rows.push({ is: 'more requests', id: 'more requests', left });
  }
  if (hasMore) rows.push({ is: 'more', id: 'more' });
  return rows;
}
