// Which instant of the open request is shown, and what its state is compared with. Pure.
import type { Place } from '../place';
import type { Instant } from './state-at';

type Span = { seqStart: number; seqEnd?: number | null };
export type Known = {
  /** The newest event, and the event before the first block. */
  seq: number;
  start: number;
  live: boolean;
  root: string | null;
  /** The selected block, as far as it was read. */
  block: Span | null;
};

/** What says when a selected block ended: its row; or what was read of it, if the row is as of an instant before its
 * end. What was read of a block that goes on now, after a resume, tells of an earlier end. */
export function spanOf<R extends Span & { status: string | null }, B>(
  row: R | undefined,
  read: B | null,
  isNow: boolean,
): R | B | null {
  if (!row || (row.seqEnd == null && !(isNow && row.status === 'running'))) return read ?? row ?? null;
  return row;
}

/** The selected block, if its end is what is shown: no event was chosen, and it ended. */
function endedBlock({ seq, block: selected }: Place, { block }: Known) {
  if (seq !== null || selected === null || block?.seqEnd == null) return null;
  return { from: block.seqStart, to: block.seqEnd };
}

/** The chosen event, the end of the selected block, or the newest event. */
export function seqShown(place: Place, known: Known): number {
  const seq = place.seq ?? endedBlock(place, known)?.to;
  return seq === undefined ? known.seq : Math.min(seq, Math.max(1, known.seq));
}

/** What the end of a selected block is compared with is its start; an end of a request, the start; else the step before. */
export function instantShown(request: string, place: Place, known: Known): Instant {
  const block = endedBlock(place, known);
  const isRoot = block !== null && place.block === known.root;
  const base = place.base ?? (isRoot ? null : block && Math.max(known.start, block.from - 1));
  const isWhole = place.seq === null && (block === null || isRoot) && !known.live;
  return { request, seq: seqShown(place, known), base, isWhole };
}

/**
 * How the last event is shown. The end of a selected block would be shown in its place, so a finished request names the
 * event, and a running one, whose last event is another one soon, selects nothing.
 */
export function lastShown(place: Place, known: Known): Pick<Place, 'seq' | 'block'> {
  const { block } = place;
  const shown = endedBlock({ ...place, seq: null }, known)?.to ?? known.seq;
  if (shown >= known.seq) return { seq: null, block };
  return known.live ? { seq: null, block: null } : { seq: known.seq, block };
}
