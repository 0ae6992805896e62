// Where bars lie on the time axis, in percent of its width. Pure: the clock is handed in.
import { fraction, roundUp, ticks } from '../../base/scale';
import type { BlockRow, RequestRow } from '../../host/host';

export type Axis = { from: number; to: number };
export type Bar = { left: number; width: number };

/** From the start of the request to its end. While it runs the end is a round number ahead, so bars grow and the axis rests. */
export function axisOf(request: RequestRow, blocks: readonly BlockRow[], now: number, live: boolean): Axis {
  const from = request.startedAt;
  if (live) return { from, to: from + roundUp(Math.max(1000, now - from)) };
  let to = request.finishedAt ?? from;
  for (const block of blocks) to = Math.max(to, block.startedAt + (block.durationMs ?? 0));
  return { from, to: Math.max(to, from + 1) };
}

/** A block without an end reaches to now while the request runs, and to the end of the axis once it does not. */
export function barOf(block: BlockRow, axis: Axis, now: number, live: boolean): Bar {
  const end = block.durationMs != null ? block.startedAt + block.durationMs : live ? now : axis.to;
  const left = fraction(block.startedAt, axis.from, axis.to);
  const right = fraction(end, axis.from, axis.to);
  return { left: left * 100, width: Math.max(0, right - left) * 100 };
}

/** Round marks on the axis, as many as there is room for labels. */
export function marksOf(axis: Axis, width: number): { at: number; left: number }[] {
  const span = axis.to - axis.from;
  // No clock here is finer than a millisecond, and two marks must not read alike.
  return ticks(span, Math.max(1, Math.floor(Math.min(width / 70, span)))).map((at) => ({
    at,
    left: (at / span) * 100,
  }));
}

/** At most `most` places along the slider where something failed, as fractions: a thousand failures are not a thousand elements. */
export function failureMarks(errors: readonly number[], lastSeq: number, most = 120): number[] {
  const buckets = new Set(errors.map((seq) => Math.round(fraction(seq, 1, lastSeq) * most)));
  return [...buckets].map((bucket) => bucket / most);
}
