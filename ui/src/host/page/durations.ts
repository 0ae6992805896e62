// How long the members of a group took, in cells. The same rules as those of `runner/src/request_view/durations.rs`.
import type { ViewDurations } from '../bindings';

const [LENGTHS, CELLS] = [96, 8];

const lengthOf = (ms: number) => (ms <= 0 ? 0 : Math.floor(Math.min(1 + 4 * Math.log2(ms), LENGTHS - 1)));
const shortest = (length: number) => (length === 0 ? 0 : Math.ceil(2 ** ((length - 1) / 4)));

/** Null if none has ended. */
export function durationsOf(members: readonly { took: number; hasFailed: boolean }[]): ViewDurations | null {
  if (members.length === 0) return null;
  const lengths = members.map(({ took }) => lengthOf(took));
  const [first, last] = [Math.min(...lengths), Math.max(...lengths)];
  const step = Math.ceil((last - first + 1) / CELLS);
  const cells = Array.from({ length: Math.ceil((last - first + 1) / step) }, () => 0);
  const failures = cells.map(() => 0);
  lengths.forEach((length, n) => {
    const cell = Math.floor((length - first) / step);
    cells[cell]! += 1;
    if (members[n]?.hasFailed) failures[cell]! += 1;
  });
  return { from: shortest(first), to: Math.max(shortest(first), shortest(last + 1) - 1), cells, failures };
}
