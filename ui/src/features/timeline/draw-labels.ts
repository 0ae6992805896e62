// Draws the texts beside the bars. No line of the axis, no cut and no instant goes through one.
import { LEAST, type Bar } from './bars';
import type { Colours } from './colours';

/** How wide labels are, which repeat; another font makes them other. Measuring one costs more than drawing its bar. */
const widths = new Map<string, number>();
const MOST_WIDTHS = 2_000;
globalThis.document?.fonts?.addEventListener('loadingdone', () => widths.clear());

function widthOf(ctx: CanvasRenderingContext2D, label: string): number {
  const known = widths.get(label);
  if (known !== undefined) return known;
  if (widths.size >= MOST_WIDTHS) widths.clear();
  const { width } = ctx.measureText(label);
  widths.set(label, width);
  return width;
}

export function drawLabel(
  ctx: CanvasRenderingContext2D,
  bar: Bar,
  [left, right]: [number, number],
  middle: number,
  width: number,
  colours: Colours,
) {
  if (!bar.label || right < 0 || left > width + LEAST) return;
  const room = widthOf(ctx, bar.label);
  const after = Math.max(right, left + LEAST) + 7;
  const at = after + room <= width - 2 ? after : Math.min(left, width - LEAST) - room - 7;
  if (at < 2) return;
  // No line of the axis and no cut goes through it.
  ctx.clearRect(at - 2, middle - 8, room + 4, 16);
  ctx.fillStyle = colours.soft;
  ctx.fillText(bar.label, at, middle + 0.5);
}

const START = 'start-up';

/** The time before the first block, which no bar accounts for: the flow is loaded. */
export function drawStart(
  ctx: CanvasRenderingContext2D,
  from: number,
  to: number,
  rows: number,
  rowHeight: number,
  colours: Colours,
) {
  const left = Math.max(0, from);
  if (to - left < 3) return;
  ctx.fillStyle = colours.line;
  ctx.globalAlpha = 0.35;
  ctx.fillRect(left, 0, to - left, rows * rowHeight);
  ctx.globalAlpha = 1;
  if (widthOf(ctx, START) > to - left - 12) return;
  ctx.fillStyle = colours.soft;
  // Beside the second row, because the bar of the first one reaches to the end and has its label at the left.
  ctx.fillText(START, left + 6, Math.min(1, rows - 1) * rowHeight + rowHeight / 2 + 0.5);
}
