// Finding by a few letters, for the command palette and the search boxes. Pure; the caller decides what to show.

/** Higher is better, 0 is no match. Letters must appear in order; runs and word starts count more. */
export function score(query: string, text: string): number {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return 1;
  const hay = text.toLowerCase();
  const at = hay.indexOf(wanted);
  if (at >= 0) return 1000 - Math.min(at, 400) + (starts(hay, at) ? 300 : 0);
  let points = 0;
  let from = 0;
  for (const letter of wanted.replaceAll(' ', '')) {
    const found = hay.indexOf(letter, from);
    if (found < 0) return 0;
    points += found === from ? 3 : starts(hay, found) ? 2 : 1;
    from = found + 1;
  }
  return points;
}

/** The best matches first; equal ones keep their order. */
export function best<T>(query: string, all: readonly T[], text: (one: T) => string, most: number): T[] {
  return all
    .map((one, index) => ({ one, index, points: score(query, text(one)) }))
    .filter((hit) => hit.points > 0)
    .sort((a, b) => b.points - a.points || a.index - b.index)
    .slice(0, most)
    .map((hit) => hit.one);
}

const starts = (text: string, at: number) => at === 0 || !/[a-z0-9]/.test(text[at - 1] ?? '');
