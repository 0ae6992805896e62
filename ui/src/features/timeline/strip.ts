// What the pointer takes hold of on the overview strip. Pure.
export type Part = 'instant' | 'left' | 'right' | 'window' | 'new';
/** In pixels of the strip: where the line of the instant is, and the part in view. */
export type Places = { cursor: number; left: number; right: number; isZoomed: boolean };

export const [HEIGHT, RAIL] = [42, 17];
/** How near is near enough to the line, and to an edge of the part in view. */
const [LINE, EDGE] = [6, 8];

/** Above, and on the line itself wherever that is, the instant is moved; elsewhere the part in view. */
export function partAt(x: number, y: number, { cursor, left, right, isZoomed }: Places): Part {
  if (y < RAIL || Math.abs(x - cursor) <= LINE) return 'instant';
  if (Math.abs(x - left) < EDGE) return 'left';
  if (Math.abs(x - right) < EDGE) return 'right';
  return isZoomed && x > left && x < right ? 'window' : 'new';
}

export const CURSORS: Record<Part, string> = {
  instant: 'ew-resize',
  left: 'col-resize',
  right: 'col-resize',
  window: 'grab',
  new: 'crosshair',
};
