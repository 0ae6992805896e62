// How the blocks of a flow stand in one run of it, by their names: a graph shows a block once, however often it ran.
import type { BlockStatus, ViewRow } from '../../host/host';

export type Standing = { status: BlockStatus; runs: number; failed: number; instanceId: string };

/** What a box says where its block ran several times: what still goes on, then what went wrong last. */
const RANK: Record<BlockStatus, number> = { running: 4, suspended: 3, failed: 2, completed: 1, abandoned: 0 };

export function standingOf(rows: readonly ViewRow[]): Map<string, Standing> {
  const found = new Map<string, Standing>();
  for (const { name, status, instanceId, group } of rows) {
    // A group of rows is no block itself.
    if (!name || !status || !instanceId || group) continue;
    const known = found.get(name);
    const failed = (known?.failed ?? 0) + (status === 'failed' ? 1 : 0);
    const isTelling = !known || RANK[status] >= RANK[known.status];
    found.set(name, {
      status: isTelling ? status : known.status,
      instanceId: isTelling ? instanceId : known.instanceId,
      runs: (known?.runs ?? 0) + 1,
      failed,
    });
  }
  return found;
}
