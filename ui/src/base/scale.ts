// One-dimensional scales for time axes: where something lies between two ends, and which round numbers to label.

/** The position of `value` between `from` and `to`, clamped to 0…1; an empty range is all start. */
export function fraction(value: number, from: number, to: number): number {
  if (to <= from) return 0;
  return Math.min(1, Math.max(0, (value - from) / (to - from)));
}

/** The next of 1, 2, 5 × 10ⁿ at or above `value`. A running axis ends there, so bars grow without rescaling each frame. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((s) => s * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** Round values from 0 up to `end`, at most `most` of them. */
export function ticks(end: number, most: number): number[] {
  if (end <= 0 || most < 1) return [0];
  const step = roundUp(end / most);
  const found: number[] = [];
  for (let value = 0; value <= end * (1 + 1e-9); value += step) found.push(value);
  return found;
}
