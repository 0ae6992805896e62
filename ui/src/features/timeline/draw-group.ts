// Draws the row of a group: small bars that count its blocks by the time at which they began, with the failed ones red.
import type { ViewRow } from '../../host/host';
import type { Range } from './axis';
import type { Bar } from './bars';
import type { Colours } from './colours';

type Place = {
  shown: { left: number; right: number };
  x: (time: number) => number;
  bar: Bar;
  /** Times that were cut out of the axis. */
  cuts: readonly Range[];
};

/** How many members began in each part of the group's time; a part over a cut is as wide as what is left of it. */
export function drawGroup(
  ctx: CanvasRenderingContext2D,
  row: ViewRow,
  { shown, x, bar, cuts }: Place,
  middle: number,
  colours: Colours,
) {
  const cells = row.group?.cells ?? [];
  const failures = row.group?.failures ?? [];
  const most = Math.max(1, ...cells);
  const base = middle + 8;
  ctx.fillStyle = colours.wholeEdge;
  ctx.fillRect(shown.left, base, shown.right - shown.left, 1.5);
  const step = (bar.to - bar.from) / Math.max(1, cells.length);
  cells.forEach((count, n) => {
    if (count === 0) return;
    const [from, to] = [bar.from + n * step, bar.from + (n + 1) * step];
    const cut = cuts.find((one) => from < one.to && to > one.from);
    const left = x(cut && from > cut.from ? cut.to : from);
    // Most of a cell that a cut falls into is not on the axis: its members began at the edge of the cut.
    const right = cut ? left + 2 : x(to);
    if (left > shown.right || right < shown.left) return;
    const height = Math.max(2, (count / most) * 14);
    const size = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
    ctx.fillStyle = colours.barEdge;
    ctx.fillRect(left, base - height, size, height);
    const failed = failures[n] ?? 0;
    if (failed === 0) return;
    // What failed is at the bottom, where it is seen even if it is one of many.
    const share = Math.max(3, (failed / most) * 14);
    ctx.fillStyle = colours.bad;
    ctx.fillRect(left, base - Math.min(height, share), size, Math.min(height, share));
  });
}
