// The time axis: milliseconds of a request laid end to end, with long idle times cut out. Pure.
// A place on it is a number from 0 to `length`, so zooming and panning need not know where something was cut. What is
// very short beside the rest is drawn out, because what a resume did after a long pause has to be seen.
import { roundUp } from '../../base/scale';
import { duration } from '../../base/time';

export type Range = { from: number; to: number };
/** `zero` is the time that counts as 0 in it. A fork counts from its own start: before its pause, times are negative. */
export type Piece = Range & { at: number; size: number; isCut: boolean; zero: number };
export type Axis = Range & { pieces: Piece[]; length: number };
/** What is in view, in places of the axis. */
export type Window = { left: number; right: number };
export type Mark = { x: number; label: string };
/** `isShown`: whether there is room for its label beside the one before. */
export type CutMark = { x: number; width: number; label: string; isShown: boolean };

/** An idle time is cut where it is longer than a quarter of all the time in which something happened. */
const IDLE_SHARE = 0.25;
const LEAST_IDLE_MS = 500;
const MOST_CUTS = 30;
/** The share of the axis that one cut takes, and all of them together at most. */
const CUT_SHARE = 0.025;
const CUTS_SHARE = 0.3;
/** The share that a piece between cuts takes at least, and all the short ones together at most. */
const PIECE_SHARE = 0.12;
const PIECES_SHARE = 0.5;
const MARK_ROOM = 76;
/** How wide the label of a cut is. */
const CUT_ROOM = 84;
const LEAST_MS = 4;

/** `pause`: the time between what a fork shares with its original and its own first event. It takes no room at all. */
export function axisOf(range: Range, gaps: readonly Range[], isCut: boolean, pause: Range | null = null): Axis {
  const end = Math.max(range.to, range.from + 1);
  const outside = pause ? gaps.flatMap((gap) => without(gap, pause)) : gaps;
  const idle = isCut ? cutsOf({ from: range.from, to: end }, outside, pause ? pause.to - pause.from : 0) : [];
  const cuts = pause ? [...idle, pause].sort((a, b) => a.from - b.from) : idle;
  // Something begins where a gap ends, though it may have taken no time.
  const to = Math.max(end, (cuts.at(-1)?.to ?? 0) + 1);
  const busy = to - range.from - lengthOf(cuts);
  const size = busy * Math.min(CUT_SHARE, CUTS_SHARE / Math.max(1, idle.length));
  const least = idle.length > 0 ? busy * Math.min(PIECE_SHARE, PIECES_SHARE / (cuts.length + 1)) : 0;
  const pieces: Piece[] = [];
  let [time, at, zero] = [range.from, 0, pause?.from ?? range.from];
  const add = (end: number, length: number, piece: boolean) => {
    pieces.push({ from: time, to: end, at, size: length, isCut: piece, zero });
    [time, at] = [end, at + length];
  };
  for (const cut of cuts) {
    if (cut.from > time) add(cut.from, Math.max(least, cut.from - time), false);
    add(cut.to, cut === pause ? 0 : size, true);
    if (cut === pause) zero = pause.to;
  }
  if (to > time) add(to, Math.max(least, to - time), false);
  return { from: range.from, to, pieces, length: at };
}

const lengthOf = (cuts: readonly Range[]) => cuts.reduce((sum, cut) => sum + cut.to - cut.from, 0);

/** What is left of a time without another one. */
function without(gap: Range, taken: Range): Range[] {
  const before = { from: gap.from, to: Math.min(gap.to, taken.from) };
  const after = { from: Math.max(gap.from, taken.to), to: gap.to };
  return [before, after].filter((part) => part.to > part.from);
}

function cutsOf(range: Range, gaps: readonly Range[], pause = 0): Range[] {
  const inside = gaps
    .map((gap) => ({ from: Math.max(range.from, gap.from), to: Math.min(range.to, gap.to) }))
    .filter((gap) => gap.to - gap.from >= LEAST_IDLE_MS)
    .sort((a, b) => b.to - b.from - (a.to - a.from));
  let busy = range.to - range.from - pause;
  const cuts: Range[] = [];
  for (const gap of inside.slice(0, MOST_CUTS)) {
    const rest = busy - (gap.to - gap.from);
    if (gap.to - gap.from < rest * IDLE_SHARE) break;
    busy = rest;
    cuts.push(gap);
  }
  return cuts.sort((a, b) => a.from - b.from);
}

/** Where a time lies on the axis. */
export function placeOf(axis: Axis, time: number): number {
  const piece = axis.pieces.find((one) => time <= one.to) ?? axis.pieces.at(-1);
  if (!piece) return 0;
  const share = piece.to > piece.from ? (time - piece.from) / (piece.to - piece.from) : 0;
  return piece.at + Math.min(1, Math.max(0, share)) * piece.size;
}

/** The time at a place of the axis. */
export function timeAt(axis: Axis, place: number): number {
  const piece = axis.pieces.find((one) => place <= one.at + one.size) ?? axis.pieces.at(-1);
  if (!piece) return axis.from;
  const share = piece.size > 0 ? (place - piece.at) / piece.size : 0;
  return piece.from + Math.min(1, Math.max(0, share)) * (piece.to - piece.from);
}

/** A window that shows at least `LEAST_MS` and lies on the axis; null where it shows all of it. */
export function fitted(window: Window, length: number): Window | null {
  const size = Math.min(length, Math.max(Math.min(LEAST_MS, length), window.right - window.left));
  if (size >= length * 0.999) return null;
  const left = Math.min(length - size, Math.max(0, window.left));
  return { left, right: left + size };
}

/** Shows `factor` times as much around a place that stays where it is. */
export function zoomed(window: Window, factor: number, around: number, length: number): Window | null {
  const size = Math.max(Math.min(LEAST_MS, length), (window.right - window.left) * factor);
  const share = (around - window.left) / Math.max(1e-9, window.right - window.left);
  return fitted({ left: around - size * share, right: around + size * (1 - share) }, length);
}

/** A running request ends at a round time ahead, so that bars grow and the axis rests. What is cut does not count. */
export function liveEnd(from: number, now: number, gaps: readonly Range[] = []): number {
  const begin = from + lengthOf(cutsOf({ from, to: now }, gaps));
  return begin + roundUp(Math.max(1000, now - begin));
}

/** Labelled times in view, as far apart as their labels need. */
export function marksOf(axis: Axis, window: Window, width: number): Mark[] {
  const scale = width / Math.max(1e-9, window.right - window.left);
  const marks: Mark[] = [];
  const middleOf = (piece: Piece) => (piece.at + piece.size / 2 - window.left) * scale;
  const cuts = axis.pieces
    .filter((piece) => piece.isCut && piece.size > 0 && piece.at < window.right && piece.at + piece.size > window.left)
    .map(middleOf);
  let free = -Infinity;
  for (const piece of axis.pieces) {
    const [left, right] = [Math.max(piece.at, window.left), Math.min(piece.at + piece.size, window.right)];
    if (piece.isCut || right <= left) continue;
    // A piece that is drawn out has times of its own.
    const drawn = piece.size / (piece.to - piece.from);
    const step = Math.max(1, roundUp(MARK_ROOM / (scale * drawn)));
    const begin = Math.ceil((piece.from + (left - piece.at) / drawn - piece.zero) / step - 1e-6) * step;
    const end = piece.from + (right - piece.at) / drawn - piece.zero;
    for (let at = begin; at <= end + 1e-6; at += step) {
      const x = (piece.at + (at + piece.zero - piece.from) * drawn - window.left) * scale;
      const isUnderCut = cuts.some((middle) => Math.abs(x - middle) < MARK_ROOM);
      if (isUnderCut || x < free || (x > width - 30 && at > 0 && x < width - 1)) continue;
      marks.push({ x, label: offsetLabel(at, step) });
      free = x + MARK_ROOM * 0.8;
    }
  }
  return marks;
}

/** The cuts in view, with the time that each leaves out. */
export function cutMarks(axis: Axis, window: Window, width: number): CutMark[] {
  const scale = width / Math.max(1e-9, window.right - window.left);
  let free = -Infinity;
  return axis.pieces
    .filter((piece) => piece.isCut && piece.size > 0 && piece.at + piece.size > window.left && piece.at < window.right)
    .map((piece) => {
      const [x, size] = [(piece.at - window.left) * scale, piece.size * scale];
      const isShown = x + size / 2 >= free;
      if (isShown) free = x + size / 2 + CUT_ROOM;
      return { x, width: size, label: duration(piece.to - piece.from), isShown };
    });
}

/** A distance from the start, exact enough to tell it from one a step away. */
export function offsetLabel(ms: number, step: number): string {
  if (ms < -0.5) return `−${offsetLabel(-ms, step)}`;
  if (ms < 0.5) return '0';
  if (ms < 1000 && step < 1000) return `${Math.round(ms)} ms`;
  const decimals = step >= 1000 ? 0 : Math.min(3, Math.ceil(3 - Math.log10(step)));
  if (ms < 60_000) return `${trimmed((ms / 1000).toFixed(decimals))} s`;
  const seconds =
    step % 60_000 === 0
      ? ''
      : ` ${((ms % 60_000) / 1000).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, '0')} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} m${seconds}`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} m${seconds}`;
}

const trimmed = (text: string) => (text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text);
