// A group of rows as of an event: how its members stood, each as its newest execution that had begun. The same rules as
// those of `runner/src/request_view/rows.rs`.
import type { ViewGroup, ViewRow } from '../bindings';
import { durationsOf } from './durations';
import type { PageRows } from './rows';

const FAILURES = new Set(['failed', 'returned_error', 'timed_out']);
const isFailure = (status: string | null | undefined) => FAILURES.has(status ?? '');

/** Which of so many equal parts of a stretch of time an instant falls into. */
export const partOf = (at: number, from: number, to: number, parts: number): number =>
  Math.min(parts - 1, Math.floor((Math.max(0, at - from) * parts) / (Math.max(0, to - from) + 1)));

/** The newest execution of a member that had begun, by its row. */
function newestBegun(rows: PageRows, member: number, at: number): number | undefined {
  const hadBegun = (row: number) => (rows.seqStart[row] ?? 0) <= at;
  if (!rows.isGroup(member)) return hadBegun(member) ? member : undefined;
  let found: number | undefined;
  for (const child of rows.inside(member)) if (hadBegun(child)) found = child;
  return found;
}

const firstOf = (rows: PageRows, member: number): number => {
  if (!rows.isGroup(member)) return member;
  const [first] = rows.inside(member);
  return first === undefined ? member : firstOf(rows, first);
};

export function groupAt(rows: PageRows, row: number, at: number): Partial<ViewRow> {
  const group = rows.table.get('group', row) as ViewGroup;
  const tally = { count: 0, failed: 0, running: 0, suspended: 0 };
  let [hasUncaught, endedAt] = [false, NaN];
  let newest: ViewRow['status'] = null;
  const from = rows.startedAt[row] ?? 0;
  const begun: { at: number; hasFailed: boolean }[] = [];
  const ended: { took: number; hasFailed: boolean }[] = [];
  for (const child of rows.inside(row)) {
    const member = newestBegun(rows, child, at);
    if (member === undefined) continue;
    const status = rows.statusAt(member, at);
    begun.push({ at: rows.startedAt[firstOf(rows, child)] ?? 0, hasFailed: isFailure(status) });
    tally.count += 1;
    if (isFailure(status)) tally.failed += 1;
    else if (status === 'running') tally.running += 1;
    else if (status === 'suspended') tally.suspended += 1;
    hasUncaught ||= status === 'failed' && rows.table.get('caught', member) !== true;
    newest = status;
    const hasEnded = at >= (rows.seqEnd[member] ?? Infinity);
    const end = hasEnded ? (rows.endedAt[member] ?? NaN) : (rows.startedAt[member] ?? 0);
    endedAt = Math.max(Number.isNaN(endedAt) ? end : endedAt, end);
    const took = hasEnded && status !== 'suspended' ? end - (rows.startedAt[member] ?? 0) : NaN;
    if (!Number.isNaN(took)) ended.push({ took, hasFailed: isFailure(status) });
  }
  // The parts are those of the time up to the newest member, and none is of the future.
  const to = Math.max(from, Number.isNaN(endedAt) ? from : endedAt);
  const cells = group.cells.map(() => 0);
  const failures = group.cells.map(() => 0);
  for (const one of begun) {
    const cell = partOf(one.at, from, to, cells.length);
    cells[cell]! += 1;
    if (one.hasFailed) failures[cell]! += 1;
  }
  const status = newest === null || group.of === 'attempts' ? newest : statusOf(tally, group.count, hasUncaught);
  const isOver = status !== 'running' && newest !== null && !Number.isNaN(endedAt);
  return {
    status,
    durationMs: isOver ? Math.max(0, endedAt - from) : undefined,
    // A page of an older version does not tell them.
    group: { ...group, ...tally, cells, failures, ...(group.durations && { durations: durationsOf(ended) }) },
  };
}

type Tally = { count: number; failed: number; running: number; suspended: number };

function statusOf({ count, failed, running, suspended }: Tally, all: number, hasUncaught: boolean) {
  // Between two members the group runs, though none of them does.
  if (running > 0 || count < all) return 'running' as const;
  if (hasUncaught || failed === count) return 'failed' as const;
  return suspended > 0 ? ('suspended' as const) : ('completed' as const);
}
