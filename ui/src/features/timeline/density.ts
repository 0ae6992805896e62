// Draws the overview strip: how many blocks began in each stretch of the axis, where some failed, and where time is cut.
import { placeOf, type Axis } from './axis';
import type { Colours } from './colours';
import type { Density } from './range.svelte';

type Scene = { density: readonly Density[]; axis: Axis; width: number; height: number; colours: Colours };

export function drawDensity(ctx: CanvasRenderingContext2D, { density, axis, width, height, colours }: Scene): void {
  ctx.clearRect(0, 0, width, height);
  for (const piece of axis.pieces) {
    if (!piece.isCut || piece.size === 0) continue;
    const [left, size] = [(piece.at / axis.length) * width, Math.max(2, (piece.size / axis.length) * width)];
    ctx.fillStyle = colours.line;
    ctx.fillRect(left, 0, size, height);
    ctx.strokeStyle = colours.idle;
    ctx.beginPath();
    for (let y = 0; y <= height; y += 4) ctx.lineTo(left + size / 2 + (y % 8 === 0 ? -2 : 2), y);
    ctx.stroke();
  }
  // Each stretch is laid on the axis of now: that of a running request goes on, and its cuts are other ones by then.
  const drawn = density.map((part) => {
    const left = (placeOf(axis, part.from) / axis.length) * width;
    const room = (placeOf(axis, part.to) / axis.length) * width - left;
    const columns = columnsOf(part, Math.max(1, Math.floor(room / 3)));
    return { left, size: Math.max(0, room) / columns.length, columns };
  });
  const most = Math.max(1, ...drawn.flatMap((part) => part.columns.map((column) => column.count)));
  for (const { left, size, columns } of drawn) {
    columns.forEach(({ count, failed }, n) => {
      // A root of the share, so that a single block stays visible beside a thousand.
      const top = count > 0 ? Math.max(2, Math.sqrt(count / most) * (height - 3)) : 0;
      ctx.fillStyle = colours.barEdge;
      ctx.fillRect(left + n * size, height - top, Math.max(1, size - 1), top);
      if (failed === 0) return;
      ctx.fillStyle = colours.bad;
      ctx.fillRect(left + n * size, 0, 2, height);
    });
  }
}

/** As many columns as there is room for, each with the sum of its cells. */
export function columnsOf(
  { cells, failures }: Pick<Density, 'cells' | 'failures'>,
  most: number,
): { count: number; failed: number }[] {
  const columns = Array.from({ length: Math.max(1, Math.min(most, cells.length)) }, () => ({ count: 0, failed: 0 }));
  cells.forEach((count, n) => {
    const column = columns[Math.min(columns.length - 1, Math.floor((n / cells.length) * columns.length))];
    if (!column) return;
    column.count += count;
    column.failed += failures[n] ?? 0;
  });
  return columns;
}
