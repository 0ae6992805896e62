// Where a list of any length is scrolled to. An element can be some 33 million pixels high in any engine, which is
// 1.2 million rows; beyond that the bar of the scroll moves over a shorter way than the rows do. Pure.

/** Well below what engines can lay out, and fine enough for a bar of a thousand pixels. */
export const MOST_PIXELS = 8_000_000;

/** How high the element is that stands for all rows. */
export const scrollHeight = (count: number, height: number): number => Math.min(count * height, MOST_PIXELS);

export const isScaled = (count: number, height: number): boolean => count * height > MOST_PIXELS;

/** The farthest the rows can be scrolled, in their own pixels. */
export const lastTop = (count: number, height: number, room: number): number => Math.max(0, count * height - room);

/** What is at the top, in pixels of the rows, for a place of the scroll bar. */
export function topOf(scroll: number, count: number, height: number, room: number): number {
  if (!isScaled(count, height)) return scroll;
  const way = Math.max(1, scrollHeight(count, height) - room);
  return Math.min(1, Math.max(0, scroll / way)) * lastTop(count, height, room);
}

/** The place of the scroll bar that shows a top. */
export function scrollOf(top: number, count: number, height: number, room: number): number {
  if (!isScaled(count, height)) return top;
  const way = Math.max(1, scrollHeight(count, height) - room);
  return (top / Math.max(1, lastTop(count, height, room))) * way;
}
