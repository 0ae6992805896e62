// Decides on which side of a field its list opens, and its maximum height. Pure: the sizes are arguments.

export type Drop = { side: 'below' | 'above'; height: number };

/** Below, unless more of the list fits above. The list never exceeds the window; a longer list scrolls. */
export function dropOf(field: { top: number; bottom: number }, windowHeight: number, wanted: number): Drop {
  const gap = 4;
  const below = Math.max(0, windowHeight - field.bottom - gap);
  const above = Math.max(0, field.top - gap);
  return wanted <= below || below >= above
    ? { side: 'below', height: Math.min(wanted, below) }
    : { side: 'above', height: Math.min(wanted, above) };
}
