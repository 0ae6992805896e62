// The newest run of an action with the rows of its blocks.
import type { Host, ListedRequest, ViewRow } from '../../host/host';
import { wholeTree } from '../../model/whole-tree';

export type NewestRun = { request: ListedRequest; rows: ViewRow[] };

/** A graph has fewer boxes than this, so more rows would add nothing. */
const MAX_ROWS = 2000;

export async function newestRun(host: Host, flow: string, action: string): Promise<NewestRun | null> {
  const [request] = await host.requests({ flow, action, byChange: true, limit: 1, offset: 0 });
  return request ? { request, rows: (await wholeTree(host, request.id, MAX_ROWS)).rows } : null;
}
