// What is said of the selected runs: what they have in common.
import { plural } from '../../base/json';
import { thousands } from '../../base/thousands';
import type { Fault, RunRow } from '../../host/host';

/** Where a run failed, as a file and a line. */
const placeOf = (row: RunRow): string | null =>
  row.error?.file ? `${row.error.file}${row.error.line == null ? '' : `:${row.error.line}`}` : null;

/** The one value that all of these have; null where they differ or one has none. */
function shared<T>(rows: readonly RunRow[], of: (row: RunRow) => T | null | undefined): T | null {
  const [first] = rows;
  const value = first ? of(first) : null;
  return value != null && rows.every((row) => of(row) === value) ? value : null;
}

export type InCommon = { text: string; code: string | null };

/** What several runs have in common, the most telling first; null where nothing is worth saying. */
export function inCommon(rows: readonly RunRow[]): InCommon | null {
  if (rows.length < 2) return null;
  const who = rows.length === 2 ? 'both' : `all ${rows.length}`;
  const place = shared(rows, placeOf);
  if (place) return { text: `${who} fail at`, code: place };
  const error = shared(rows, (row) => row.error && `${row.error.name}: ${row.error.message}`);
  if (error) return { text: `${who} fail with`, code: error };
  const flow = shared(rows, (row) => `${row.flow}.${row.action}`);
  return flow ? { text: `${who} ran`, code: flow } : null;
}

/** What a list calls a run: its title, or the first words of its input. */
export const subjectOf = (row: RunRow): string => row.title ?? row.words ?? '';

/** What a person reads in a row besides numbers: rows of the same are told apart by their time. */
export const looksOf = (row: RunRow): string =>
  [row.flow, row.action, subjectOf(row), row.title ? row.words : '', row.status, row.error?.message].join('\n');

/** A typed list of tags: between commas and blanks, without the ones that are there twice. */
export const tagsIn = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

/** About what a letter of a chip takes, what stands around its words, and a count of the others. In pixels. */
const [LETTER, AROUND, COUNT] = [6.2, 18, 24];

/** How many tags are shown in a cell: as many as can be read, and one at least. */
export function tagsThatFit(tags: readonly string[], room: number): number {
  let left = room;
  for (const [n, tag] of tags.entries()) {
    left -= LETTER * tag.length + AROUND;
    const isLast = n === tags.length - 1;
    if (n > 0 && left < (isLast ? 0 : COUNT)) return n;
  }
  return tags.length;
}

/** How many of the chosen runs something was done to, where others were deleted meanwhile: `3 of 5 runs; 2 were deleted`. */
export function outOf(done: number, chosen: number): string {
  const gone = chosen - done;
  if (gone === 0) return plural(done, 'run', 'runs');
  return `${thousands(done)} of ${plural(chosen, 'run', 'runs')}; ${thousands(gone)} ${gone === 1 ? 'was' : 'were'} deleted meanwhile`;
}

/** What is thrown if every chosen run was deleted meanwhile. */
export const allGone = (chosen: number): Fault => ({
  kind: 'notFound',
  message: `${chosen === 1 ? 'This run was' : `All ${thousands(chosen)} runs were`} deleted meanwhile.`,
});
