// Draws the bars of the rows in view on a canvas. A status is a pattern and never a colour alone.
import type { ViewRow } from '../../host/host';
import { placeOf, type Axis, type Window } from './axis';
import { drawGroup } from './draw-group';
import { drawLabel, drawStart } from './draw-labels';
import { barOf, drawnPart, LEAST, shareOf, spentOf, type Bar, type BarColour, type Look, type ShownTime } from './bars';
import type { Colours } from './colours';

export type Scene = {
  rows: readonly (ViewRow | undefined)[];
  /** What tells turns apart, for which their names left no room. */
  words: readonly string[];
  rowHeight: number;
  width: number;
  axis: Axis;
  window: Window;
  time: ShownTime;
  marks: readonly { x: number }[];
  /** Where the line of the instant is; null if the newest is shown. */
  cursor: number | null;
  /** When the first block began: the time before it went into starting the request. */
  began: number | null;
  colours: Colours;
  /** Draws what is not on the critical path fainter. */
  isCritical: boolean;
  colour: BarColour;
};

const [TALL, THIN] = [12, 6];
const FAINT = 0.38;

export function drawBars(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { rows, rowHeight, width, axis, window, colours } = scene;
  const scale = width / Math.max(1e-9, window.right - window.left);
  const x = (time: number) => (placeOf(axis, time) - window.left) * scale;
  ctx.clearRect(0, 0, width, rows.length * rowHeight);
  drawGrid(ctx, scene, scale);
  ctx.textBaseline = 'middle';
  if (scene.began !== null) drawStart(ctx, x(axis.from), x(scene.began), rows.length, rowHeight, colours);
  const bars = rows.map((row) => (row ? barOf(row, scene.time) : null));
  const cuts = axis.pieces.filter((piece) => piece.isCut);
  const most = Math.max(0, ...rows.map((row) => (row ? (spentOf(row, scene.colour) ?? 0) : 0)));
  rows.forEach((row, n) => {
    const bar = bars[n];
    if (!row || !bar) return;
    const [left, right] = [x(bar.from), x(bar.to)];
    const middle = n * rowHeight + rowHeight / 2;
    const isOff = scene.isCritical && !row.isCritical;
    ctx.globalAlpha = bar.look === 'future' || isOff ? FAINT : 1;
    if (right >= 0 && left <= width + LEAST) {
      const shown = drawnPart(left, right, width);
      if (row.group && bar.look === 'group') drawGroup(ctx, row, { shown, x, bar, cuts }, middle, colours);
      else {
        drawBar(ctx, bar, shown, middle, colours, scene.colour === 'status');
        for (const gap of row.gaps ?? []) drawGap(ctx, x(gap.from), Math.min(x(gap.to), right), middle, colours);
      }
      const share = shareOf(spentOf(row, scene.colour), most);
      if (share !== null) drawSpent(ctx, share, shown, middle, colours);
      if (scene.isCritical && row.isCritical) {
        ctx.fillStyle = colours.accent;
        ctx.fillRect(shown.left, middle + 8, shown.right - shown.left, 2);
      }
    } else drawAway(ctx, left > width ? width : 0, middle, colours);
  });
  ctx.globalAlpha = 1;
  if (scene.cursor !== null) {
    ctx.fillStyle = colours.accent;
    ctx.fillRect(Math.round(scene.cursor), 0, 1, rows.length * rowHeight);
  }
  // Labels come last: no line goes through one.
  bars.forEach((bar, n) => {
    if (!bar) return;
    ctx.globalAlpha = scene.isCritical && !rows[n]?.isCritical ? 0.7 : 1;
    drawLabel(ctx, bar, [x(bar.from), x(bar.to)], n * rowHeight + rowHeight / 2, width, colours, scene.words[n]);
  });
  ctx.globalAlpha = 1;
}

/** Lines of the axis, and a zig-zag where time was cut out. */
function drawGrid(ctx: CanvasRenderingContext2D, scene: Scene, scale: number) {
  const height = scene.rows.length * scene.rowHeight;
  ctx.fillStyle = scene.colours.line;
  for (const mark of scene.marks) ctx.fillRect(Math.round(mark.x), 0, 1, height);
  for (const piece of scene.axis.pieces) {
    if (!piece.isCut || piece.size === 0) continue;
    const left = (piece.at - scene.window.left) * scale;
    const right = left + piece.size * scale;
    if (right < 0 || left > scene.width) continue;
    ctx.fillStyle = scene.colours.line;
    ctx.globalAlpha = 0.45;
    ctx.fillRect(left, 0, right - left, height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = scene.colours.idle;
    ctx.lineWidth = 1;
    for (const at of [left, right]) {
      ctx.beginPath();
      for (let y = 0; y <= height; y += 7) ctx.lineTo(at + (y % 14 === 0 ? -2 : 2), y);
      ctx.stroke();
    }
  }
}

export function drawBar(
  ctx: CanvasRenderingContext2D,
  bar: Bar,
  { left, right }: { left: number; right: number },
  middle: number,
  colours: Colours,
  hasColour: boolean,
) {
  const size = bar.isThin ? THIN : TALL;
  const [fill, edge] = paintOf(!hasColour && bar.look === 'model' ? 'work' : bar.look, colours);
  const [width, top] = [right - left, middle - size / 2];
  ctx.beginPath();
  ctx.roundRect(left, top, width, size, Math.min(3, width / 2));
  if (fill && !colours.isForced) {
    ctx.fillStyle = fill;
    ctx.fill();
  }
  if (width > 5) drawPattern(ctx, bar.look, { left, width, top, size }, colours);
  ctx.strokeStyle = edge;
  ctx.lineWidth = bar.look === 'recorded' ? 1.5 : 1;
  ctx.setLineDash(bar.look === 'abandoned' ? [3, 3] : []);
  ctx.beginPath();
  if (width <= 3) ctx.rect(left + 0.5, top + 0.5, Math.max(1, width - 1), size - 1);
  else ctx.roundRect(left + 0.5, top + 0.5, width - 1, size - 1, 2.5);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Nobody ran the block for this time: its bar is open there, with a thin line across. */
function drawGap(ctx: CanvasRenderingContext2D, left: number, right: number, middle: number, colours: Colours) {
  if (right - left < 3) return;
  ctx.clearRect(left + 1, middle - TALL / 2 - 1, right - left - 2, TALL + 2);
  ctx.strokeStyle = colours.idle;
  ctx.lineWidth = 1;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  ctx.moveTo(left + 1, middle + 0.5);
  ctx.lineTo(right - 1, middle + 0.5);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** How much was spent, as the strength of one colour and the height of a bar, so that it can be read without colour. */
function drawSpent(
  ctx: CanvasRenderingContext2D,
  share: number,
  { left, right }: { left: number; right: number },
  middle: number,
  colours: Colours,
) {
  const height = Math.max(3, Math.round(share * (TALL + 4)));
  const alpha = ctx.globalAlpha;
  ctx.globalAlpha = alpha * (0.35 + 0.65 * share);
  ctx.fillStyle = colours.model;
  ctx.fillRect(left, middle + (TALL + 4) / 2 - height, Math.max(LEAST, right - left), height);
  ctx.globalAlpha = alpha;
}

function paintOf(look: Look, colours: Colours): [string | null, string] {
  const paints: Record<Look, [string | null, string]> = {
    work: [colours.bar, colours.barEdge],
    whole: [colours.whole, colours.wholeEdge],
    group: [colours.whole, colours.wholeEdge],
    model: [colours.modelFill, colours.model],
    failed: [colours.badFill, colours.bad],
    running: [colours.busyFill, colours.busy],
    suspended: [colours.holdFill, colours.hold],
    abandoned: [null, colours.idle],
    recorded: [null, colours.wholeEdge],
    future: [null, colours.wholeEdge],
  };
  return paints[look];
}

type Box = { left: number; width: number; top: number; size: number };

function drawPattern(ctx: CanvasRenderingContext2D, look: Look, { left, width, top, size }: Box, colours: Colours) {
  if (look !== 'failed' && look !== 'suspended' && look !== 'running') return;
  ctx.save();
  ctx.clip();
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  if (look === 'failed') {
    ctx.strokeStyle = colours.bad;
    // Anchored to the canvas, so that the hatching of neighbours runs on and a growing bar does not crawl.
    const start = Math.floor(left / 6) * 6 - size;
    for (let at = start; at < left + width; at += 6) {
      ctx.moveTo(at, top + size);
      ctx.lineTo(at + size, top);
    }
  } else if (look === 'suspended') {
    ctx.strokeStyle = colours.hold;
    for (let at = Math.ceil(left / 5) * 5; at < left + width; at += 5) {
      ctx.moveTo(at, top);
      ctx.lineTo(at, top + size);
    }
  } else {
    ctx.strokeStyle = colours.busy;
    ctx.lineWidth = 3;
    ctx.moveTo(left + width - 1.5, top);
    ctx.lineTo(left + width - 1.5, top + size);
  }
  ctx.stroke();
  ctx.restore();
}

/** A bar beyond the edge leaves a mark there, so that an empty row says where to look. */
function drawAway(ctx: CanvasRenderingContext2D, edge: number, middle: number, colours: Colours) {
  const way = edge === 0 ? 1 : -1;
  ctx.fillStyle = colours.idle;
  ctx.beginPath();
  ctx.moveTo(edge + way * 2, middle);
  ctx.lineTo(edge + way * 6, middle - 3);
  ctx.lineTo(edge + way * 6, middle + 3);
  ctx.fill();
}
