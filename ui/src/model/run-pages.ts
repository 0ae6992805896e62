// The pages in which a list of runs is read.
import type { RunRow } from '../host/host';

export const RUN_PAGE = 100;

/** Rows in view, the last one not included. */
export type Range = { first: number; last: number };

/** The pages that hold these rows, at least one; none beyond the runs that there are. */
export function pagesIn({ first, last }: Range, count: number | null): number[] {
  const end = Math.max(0, Math.ceil(Math.min(last, count ?? last) / RUN_PAGE));
  const begin = Math.min(Math.floor(first / RUN_PAGE), Math.max(0, end - 1));
  return Array.from({ length: Math.max(1, end - begin) }, (_, n) => begin + n);
}

/** How many runs there are at most if this page holds these rows: a page that is not full is the last one. */
export const mostRuns = (page: number, rows: readonly RunRow[]): number =>
  rows.length < RUN_PAGE ? page * RUN_PAGE + rows.length : Infinity;

/** What is selected without the runs that were `asked` for and not `found`: they were deleted, or fit the filter no more.
 *  What was selected meanwhile stays. */
export function stillThere<T>(
  selected: ReadonlyMap<string, T>,
  asked: ReadonlyMap<string, T>,
  found: readonly string[],
): ReadonlyMap<string, T> {
  const known = new Set(found);
  const kept = [...selected].filter(([id]) => known.has(id) || !asked.has(id));
  return kept.length === selected.size ? selected : new Map(kept);
}
