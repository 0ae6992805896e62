// A canvas that is as sharp as the screen: its pixels are the screen's, and whoever draws counts in CSS pixels.

const MAX_RATIO = 2;
/** The fonts that contexts were given: giving it again costs as much as drawing some rows. */
const fonts = new WeakMap<CanvasRenderingContext2D, string>();

/** Gives a canvas its size, in CSS pixels, and answers what to draw with. A size that is right is left alone. */
export function sizedContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  font?: string,
): CanvasRenderingContext2D | null {
  const ctx = canvas.getContext('2d');
  if (!ctx) return null;
  const ratio = Math.min(MAX_RATIO, globalThis.devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  const isSized = canvas.width === wide && canvas.height === high;
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  // A canvas that gets another size forgets its font.
  if (font && !(isSized && fonts.get(ctx) === font)) {
    ctx.font = font;
    fonts.set(ctx, font);
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}
