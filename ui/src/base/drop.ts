// On which side of a field its list opens, and how high it may be there. Pure: the sizes are handed in.

export type Drop = { side: 'below' | 'above'; height: number };

/** Below, unless more of the list fits above. It never reaches over the edge of the window: what is longer scrolls. */
export function dropOf(field: { top: number; bottom: number }, windowHeight: number, wanted: number): Drop {
  const gap = 4;
  const below = Math.max(0, windowHeight - field.bottom - gap);
  const above = Math.max(0, field.top - gap);
  return wanted <= below || below >= above
    ? { side: 'below', height: Math.min(wanted, below) }
    : { side: 'above', height: Math.min(wanted, above) };
}
