// Draws the labels next to the bars, and clears axis lines, cuts and instants behind them.
import { LEAST, type Bar } from './bars';
import type { Colours } from './colours';

/** Widths of labels, until the font changes. Labels repeat, and measuring one costs more than drawing its bar. */
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
  words = '',
) {
  if (!bar.label || right < 0 || left > width + LEAST) return;
  const room = widthOf(ctx, bar.label);
  const [before, after] = [Math.min(left, width - LEAST) - 7, Math.max(right, left + LEAST) + 7];
  const isAfter = after + room <= width - 2;
  const at = isAfter ? after : before - room;
  if (at >= 2) drawText(ctx, bar.label, at, room, middle, colours);
  // The time is placed first; the words take the larger space that remains, on either side.
  const sides: Side[] = [
    { from: 2, to: isAfter ? before : at - 8, isRight: false },
    { from: isAfter ? at + room + 8 : after, to: width - 2, isRight: true },
  ];
  const [small, large] = sides.sort((a, b) => a.to - a.from - (b.to - b.from)) as [Side, Side];
  if (words)
    drawWords(
      ctx,
      words,
      small.to - small.from >= widthOf(ctx, words) && small.isRight ? small : large,
      middle,
      colours,
    );
}

type Side = { from: number; to: number; isRight: boolean };
/** Fewer characters do not distinguish iterations. */
const FEWEST = 6;

function drawWords(
  ctx: CanvasRenderingContext2D,
  words: string,
  { from, to, isRight }: Side,
  middle: number,
  colours: Colours,
) {
  const shown = cutTo(ctx, words, to - from);
  if (!shown) return;
  const room = widthOf(ctx, shown);
  drawText(ctx, shown, isRight ? from : to - room, room, middle, colours);
}

/** Cuts a text to the available width; empty if that is too little. */
function cutTo(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (room <= 0) return '';
  const whole = widthOf(ctx, text);
  if (whole <= room) return text;
  const letters = Math.floor((text.length * room) / whole) - 1;
  return letters < FEWEST ? '' : `${[...text].slice(0, letters).join('').trimEnd()}…`;
}

/** Draws text on a cleared background, so that no axis line or cut crosses it. */
function drawText(
  ctx: CanvasRenderingContext2D,
  text: string,
  at: number,
  room: number,
  middle: number,
  colours: Colours,
) {
  ctx.clearRect(at - 2, middle - 8, room + 4, 16);
  ctx.fillStyle = colours.soft;
  ctx.fillText(text, at, middle + 0.5);
}

const START = 'start-up';

/** Draws the time before the first block, in which the flow is loaded. */
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
  // In the second row, because the bar of the first one reaches to the end and has its label on the left.
  ctx.fillText(START, left + 6, Math.min(1, rows - 1) * rowHeight + rowHeight / 2 + 0.5);
}
