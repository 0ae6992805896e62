// The newest run of an action with the rows of its blocks, read through a view that is closed at once.
import type { Host, ListedRequest, ViewRow } from '../../host/host';

export type NewestRun = { request: ListedRequest; rows: ViewRow[] };

/** A graph has fewer boxes than this, so more rows would add nothing. */
const MAX_ROWS = 2000;

export async function newestRun(host: Host, flow: string, action: string): Promise<NewestRun | null> {
  const [request] = await host.requests({ flow, action, byChange: true, limit: 1, offset: 0 });
  if (!request) return null;
  const head = await host.openView(request.id);
  try {
    await host.viewFold(head.view, { node: null, folded: false });
    const { page } = await host.viewRows(head.view, { offset: 0, limit: MAX_ROWS });
    return { request, rows: page };
  } finally {
    // The host closes it by itself if another folder was opened meanwhile.
    await host.closeView(head.view).catch(() => {});
  }
}
