// Where the bar of a row begins and ends, and how it looks. Pure; drawing it is another matter.
import { duration, waited } from '../../base/time';
import type { ViewRow } from '../../host/host';
import { tookWithout, type Pause } from '../../model/pause';

export type Look =
  'work' | 'whole' | 'model' | 'group' | 'failed' | 'running' | 'suspended' | 'abandoned' | 'recorded' | 'future';
export type Bar = { from: number; to: number; look: Look; isThin: boolean; label: string };
/** What the colour of a bar says. */
export type BarColour = 'status' | 'tokens' | 'cost';
/** `now`: how far a running bar reaches. `instant`: the time of the slider, where one is chosen. `waiting`: the time of
    day and the questions, while the request waits for answers. `pause`: the one of a fork. */
export type ShownTime = { now: number; instant: number | null; waiting?: Wait | null; pause?: Pause | null };
/** A question belongs to the execution of its path during which it was asked. */
export type Wait = { now: number; questions: { path: string; createdAt: number }[] };

/** The bar as of the instant: what was running then ends there, what waits for an answer reaches to the time of day, and
 *  what had not begun shows no outcome. */
export function barOf(row: ViewRow, { now, instant, waiting = null, pause = null }: ShownTime): Bar {
  // One that was cut off ends where the log tells no more of it.
  const length = row.durationMs ?? row.cutMs;
  const isOpen = length == null || (instant !== null && row.status === 'running');
  const end = row.startedAt + (length ?? 0);
  const to = Math.max(row.startedAt, isOpen ? Math.min(instant ?? now, length == null ? Infinity : end) : end);
  const look = lookOf(row);
  const isThin = look === 'group' || (row.hasChildren && row.kind !== 'generator');
  if (row.status === null) return { from: row.startedAt, to: Math.max(to, end), look, isThin, label: '' };
  // An answered one has ended, whatever its block asked later.
  const isAsked = ({ path, createdAt }: Wait['questions'][number]) =>
    (path === row.path || (row.hasChildren && isInside(path, row.path))) &&
    createdAt >= row.startedAt &&
    createdAt <= to + 1;
  const waits = look === 'suspended' && waiting?.questions.some(isAsked) ? waiting : null;
  const took = duration(tookWithout(pause, row.startedAt, to, row.gaps ?? []));
  const words = waits && !row.hasChildren ? `waiting ${waited(waits.now - to)}` : null;
  const label = words ?? (hasDied(row, pause) ? UNKNOWN : took);
  return { from: row.startedAt, to: waits ? Math.max(to, waits.now) : to, look, isThin, label };
}

const isInside = (path: string, outer: string | null | undefined) => outer != null && path.startsWith(`${outer}/`);

/** How long a block took whose process died: the log only says when it was last known to run. */
const UNKNOWN = 'unknown; process died';

/** Whether a block was cut off by the end of its process. What a fork left behind was cut off by the fork. */
export const hasDied = ({ cutMs, durationMs, startedAt }: ViewRow, pause: Pause | null): boolean =>
  durationMs == null && cutMs != null && !(pause && startedAt <= pause.from);

/** How wide a bar is at least, in px. */
export const LEAST = 2;

/** What is drawn of a bar. It has 2 px at least, also if it took no time at the last instant of the axis. */
export function drawnPart(left: number, right: number, width: number): { left: number; right: number } {
  const from = Math.max(-4, Math.min(left, width - LEAST));
  return { left: from, right: Math.min(width + 4, Math.max(right, from + LEAST)) };
}

function lookOf(row: ViewRow): Look {
  if (row.status === null) return 'future';
  if (row.group) return 'group';
  if (row.memoized && row.status === 'completed') return 'recorded';
  if (row.status === 'returned_error' || row.status === 'timed_out') return 'failed';
  if (row.status !== 'completed') return row.status;
  if (row.kind === 'generator') return 'model';
  return row.hasChildren ? 'whole' : 'work';
}

/** What a row says of itself when it did not run, or not with what its request was asked. */
export function noteOf({ memoized, edited }: ViewRow): { word: string; spoken?: string; why: string } | null {
  if (edited === 'output') return { word: 'edited', why: 'The fork gave it this output; it did not run' };
  if (edited === 'input') return { word: 'edited', why: 'The fork gave it this input' };
  return memoized ? { word: '=', spoken: 'from the log', why: 'Answered from the log; it did not run again' } : null;
}

/** How long it took, or has taken up to the instant, without what it waits; null where it had not begun. */
export function tookOf(row: ViewRow, time: ShownTime): number | null {
  if (row.status === null) return null;
  const { from, to } = barOf(row, { ...time, waiting: null });
  return tookWithout(time.pause ?? null, from, to, row.gaps ?? []);
}

/** How much a row spent itself, with what is below it where it is a group or folded; null where nothing is known. */
export function spentOf(row: ViewRow, colour: BarColour): number | null {
  if (colour === 'status' || row.status === null) return null;
  const all = row.group !== undefined || row.isFolded || row.modelCalls > 0;
  if (!all) return null;
  if (colour === 'cost') return row.sums.cost ?? null;
  const tokens = row.sums.promptTokens + row.sums.completionTokens;
  return tokens > 0 ? tokens : null;
}

/** Of the rows in view the one that spent most has a share of 1; a tenth of its spending is still seen. */
export function shareOf(spent: number | null, most: number): number | null {
  return spent === null || most <= 0 ? null : Math.max(0.12, Math.min(1, spent / most));
}
