// Sessions and, below the open one, its requests: one flat list of rows of one height.
import type { RequestRow, SessionRow } from '../../host/host';

export type Row =
  | { is: 'session'; id: string; session: SessionRow; open: boolean }
  | { is: 'request'; id: string; request: RequestRow }
  | { is: 'more'; id: string };

export function rowsOf(
  sessions: readonly SessionRow[],
  open: string | null,
  requests: readonly RequestRow[] | null,
  hasMore: boolean,
): Row[] {
  const rows: Row[] = [];
  for (const session of sessions) {
    const isOpen = session.id === open;
    rows.push({ is: 'session', id: `session ${session.id}`, session, open: isOpen });
    if (isOpen)
      for (const request of requests ?? []) rows.push({ is: 'request', id: `request ${request.id}`, request });
  }
  if (hasMore) rows.push({ is: 'more', id: 'more' });
  return rows;
}
