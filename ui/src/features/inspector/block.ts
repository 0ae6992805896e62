// A row of the timeline as the head of the inspector shows it, until the block itself was read.
import type { BlockRow, ViewRow } from '../../host/host';
import type { BlockAt } from '../../model/instant';
import { tookWithout, workedMs, type Pause } from '../../model/pause';

/** Null for a group of blocks, which is none itself. */
export function blockOf(row: ViewRow): BlockRow | null {
  const { instanceId, path, name, kind, status, startedAt, memoized, seqStart, seqEnd } = row;
  if (!instanceId || !path || !kind) return null;
  const error = row.error ? { name: 'Error', message: row.error } : null;
  const { changes, items } = row;
  return {
    path,
    instanceId,
    name: name ?? path,
    kind,
    attempt: row.attempt ?? 0,
    status: status ?? 'running',
    startedAt,
    durationMs: workedMs(row),
    gaps: row.gaps,
    memoized,
    seqStart,
    seqEnd,
    changes,
    items,
    error,
  };
}

/** How long a block took, or had run by a time; without its gaps and the pause of a fork. Null if nothing tells. */
export function tookBy(block: BlockRow, then: BlockAt | null, time: number | null, pause: Pause | null): number | null {
  if (!then?.begun) return null;
  if (then.isFinal && block.durationMs != null) return block.durationMs;
  return time === null ? null : Math.max(0, tookWithout(pause, block.startedAt, time, block.gaps ?? []));
}
