// A canvas that is as sharp as the screen: its pixels are the screen's, and whoever draws counts in CSS pixels.

const MAX_RATIO = 2;

/** Gives a canvas its size, in CSS pixels, and answers what to draw with. A size that is right is left alone. */
export function sizedContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ctx = canvas.getContext('2d');
  if (!ctx) return null;
  const ratio = Math.min(MAX_RATIO, globalThis.devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}
