// How the blocks of an action did in one run of it, by path: a graph shows a block once, however often it ran.
import type { BlockShape, BlockStatus, ViewRow } from '../../host/host';

export type Standing = { status: BlockStatus; runs: number; failed: number; instanceId: string };

/** The status of a box whose block ran several times: what still goes on, then what failed last. */
const RANK: Record<BlockStatus, number> = {
  running: 6,
  suspended: 5,
  failed: 4,
  returned_error: 3,
  timed_out: 2,
  completed: 1,
  abandoned: 0,
};

/** Segments whose index is the number of an item, a pass or a call. Of `stepAll[1]` it names the block. */
const COUNTED = /^(forEach|forEachBackground|doUntil|doWhile|tool|handoff|run|react|onTool\w+)(~\d+)?:/;
const PASS = /^loop(~\d+)?\[\d+\]$/;

/** A path of a run as the shape of a flow has it: without passes, items and calls. */
export function placeOf(path: string): string {
  const parts = path.split('/').filter((part) => !PASS.test(part));
  return parts.map((part) => (COUNTED.test(part) ? part.replace(/\[[^\]]*\]$/, '') : part)).join('/');
}

export class Standings {
  readonly #byPlace = new Map<string, Standing>();
  readonly #names = new Map<string, string>();

  constructor(rows: readonly ViewRow[]) {
    // Of a path that ran again, the newest attempt counts.
    const newest = new Map<string, ViewRow>();
    for (const row of rows) {
      const known = row.path ? newest.get(row.path) : undefined;
      if (row.path && (known?.attempt ?? -1) <= (row.attempt ?? 0)) newest.set(row.path, row);
    }
    for (const { name, path, status, instanceId, group } of newest.values()) {
      // A group of rows is no block itself.
      if (!name || !path || !status || !instanceId || group) continue;
      const place = placeOf(path);
      const known = this.#byPlace.get(place);
      this.#names.set(place, name);
      this.#byPlace.set(place, both(known, { status, instanceId, runs: 1, failed: status === 'failed' ? 1 : 0 }));
    }
  }

  at(place: string): Standing | null {
    return this.#byPlace.get(place) ?? null;
  }

  /** A block whose place only a run decides, such as a Call: by its name, inside of the block around it. */
  inside(around: string, name: string): Standing | null {
    let found: Standing | undefined;
    for (const [place, standing] of this.#byPlace)
      if (place.startsWith(`${around}/`) && this.#names.get(place) === name) found = both(found, standing);
    return found ?? null;
  }
}

function both(known: Standing | undefined, next: Standing): Standing {
  if (!known) return next;
  const { status, instanceId } = RANK[next.status] >= RANK[known.status] ? next : known;
  return { status, instanceId, runs: known.runs + next.runs, failed: known.failed + next.failed };
}

/** The place of a block in the shape; null where only a run decides it. */
export const placeIn = (around: string | null, { segment }: BlockShape): string | null =>
  around !== null && segment ? `${around}/${segment}` : null;
