// How long after the start of a request things happened. A fork begins with events of the request that it left: those
// lie before its start, and the time between leaving that request and starting counts for nothing.
import type { RequestRow, ViewRow } from '../host/host';

export type Pause = { from: number; to: number };

/** How long after its start something happened in a request; negative for what a fork has from its original. */
export function passedSince(first: number, at: number, pause: Pause | null): number {
  if (!pause) return Math.max(0, at - first);
  return at > pause.to ? at - pause.to : Math.min(0, at - pause.from);
}

/** How long something took, without the pause of a fork and without what else did not count. */
export function tookWithout(pause: Pause | null, from: number, to: number, gaps: readonly Pause[] = []): number {
  let took = to - from;
  // The pause of a fork is a gap of the blocks that it took up: what lies in both is taken off once.
  let reached = from;
  for (const gap of [...gaps, ...(pause ? [pause] : [])].sort((a, b) => a.from - b.from)) {
    const [begin, end] = [Math.max(gap.from, reached), Math.min(gap.to, to)];
    if (end <= begin) continue;
    took -= end - begin;
    reached = end;
  }
  return took;
}

/** How long a row of the timeline ran, without its gaps; null if it has no end. */
export const workedMs = ({ startedAt, durationMs, gaps }: Pick<ViewRow, 'startedAt' | 'durationMs' | 'gaps'>) =>
  durationMs == null ? null : Math.max(0, tookWithout(null, startedAt, startedAt + durationMs, gaps ?? []));

/** The pause of a request that is a fork, up to when that began: lists count its time from then, too. Null for any
 * other request, and if its events do not tell. */
export async function pauseOf(
  { forkedFrom, startedAt }: Pick<RequestRow, 'forkedFrom' | 'startedAt'>,
  timeOf: (seq: number) => Promise<number | null>,
): Promise<Pause | null> {
  if (!forkedFrom?.seq) return null;
  const from = await timeOf(forkedFrom.seq).catch(() => null);
  return from !== null && startedAt > from ? { from, to: startedAt } : null;
}
