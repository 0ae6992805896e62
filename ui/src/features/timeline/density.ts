// Draws the overview strip: how many blocks began in each stretch of the axis, where some failed, and where time is cut.
import { placeOf, type Axis } from './axis';
import type { Colours } from './colours';
import type { Density } from './range.svelte';

type Scene = { density: Density | null; axis: Axis; width: number; height: number; colours: Colours };

export function drawDensity(ctx: CanvasRenderingContext2D, { density, axis, width, height, colours }: Scene): void {
  ctx.clearRect(0, 0, width, height);
  for (const piece of axis.pieces) {
    if (!piece.isCut) continue;
    const [left, size] = [(piece.at / axis.length) * width, Math.max(2, (piece.size / axis.length) * width)];
    ctx.fillStyle = colours.line;
    ctx.fillRect(left, 0, size, height);
    ctx.strokeStyle = colours.idle;
    ctx.beginPath();
    for (let y = 0; y <= height; y += 4) ctx.lineTo(left + size / 2 + (y % 8 === 0 ? -2 : 2), y);
    ctx.stroke();
  }
  if (!density) return;
  // The axis of a running request reaches beyond what happened.
  const room = (placeOf(axis, density.to) / axis.length) * width;
  const columns = columnsOf(density, Math.max(1, Math.floor(room / 3)));
  const size = room / columns.length;
  const most = Math.max(1, ...columns.map((column) => column.count));
  columns.forEach(({ count, failed }, n) => {
    // A root of the share, so that a single block stays visible beside a thousand.
    const top = count > 0 ? Math.max(2, Math.sqrt(count / most) * (height - 3)) : 0;
    ctx.fillStyle = colours.barEdge;
    ctx.fillRect(n * size, height - top, Math.max(1, size - 1), top);
    if (failed === 0) return;
    ctx.fillStyle = colours.bad;
    ctx.fillRect(n * size, 0, 2, height);
  });
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
