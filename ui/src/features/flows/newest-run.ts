// The newest run of a flow with the rows of its blocks, read through a view that is closed at once.
import type { Host, ListedSession, ViewRow } from '../../host/host';

export type NewestRun = { session: ListedSession; rows: ViewRow[] };

/** A graph has not more boxes than this, so that more rows say nothing new. */
const MAX_REQUESTS = 2000;

export async function newestRun(host: Host, flow: string): Promise<NewestRun | null> {
  const [session] = await host.sessions({ flow, limit: 1, offset: 0 });
  if (!session?.lastRequest) return null;
  const head = await host.openView(session.lastRequest);
  try {
    await host.viewFold(head.view, { node: null, folded: false });
    const { page } = await host.viewRows(head.view, { offset: 0, limit: MAX_REQUESTS });
    return { session, rows: page };
  } finally {
    // The host may have closed it by itself, where another folder was opened meanwhile.
    await host.closeView(head.view).catch(() => {});
  }
}
