// A row of the timeline as the head of the inspector shows it, until the block itself was read.
import type { BlockRow, ViewRow } from '../../host/host';
import { workedMs } from '../../model/pause';

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
    memoized,
    seqStart,
    seqEnd,
    changes,
    items,
    error,
  };
}
