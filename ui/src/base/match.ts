// Fuzzy search for the command palette. Pure. The caller passes only the texts that are visible.

/** The ranks of matches. At the start of a word. */
const PREFIX = 3;
/** Inside a word. */
const WITHIN = 2;
/** Letters in order with others between them. */
const SCATTERED = 1;

export type Match = { rank: number; points: number };

/** How a text matches a query: it has all words, or all letters in order. Null if it has neither. */
export function match(query: string, text: string): Match | null {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return { rank: PREFIX, points: 0 };
  const hay = text.toLowerCase();
  const whole = wordMatch(wanted, hay);
  if (whole) return { ...whole, points: whole.points + 1000 };
  let found: Match = { rank: PREFIX, points: 0 };
  for (const word of wanted.split(/\s+/)) {
    const one = wordMatch(word, hay);
    if (!one) return scattered(wanted.replaceAll(/\s+/g, ''), hay);
    found = { rank: Math.min(found.rank, one.rank), points: found.points + one.points };
  }
  return found;
}

/** Best matches first; equal ones keep their order. Scattered letters count only if no text has the words. */
export function best<T>(query: string, all: readonly T[], text: (one: T) => string, most: number): T[] {
  const hits = all.flatMap((one, index) => {
    const found = match(query, text(one));
    return found ? [{ one, index, ...found }] : [];
  });
  const hasWords = hits.some((hit) => hit.rank > SCATTERED);
  return hits
    .filter((hit) => !hasWords || hit.rank > SCATTERED)
    .sort((a, b) => b.rank - a.rank || b.points - a.points || a.index - b.index)
    .slice(0, most)
    .map((hit) => hit.one);
}

/** The start of a word is better than its inside; earlier is better than later. */
function wordMatch(word: string, hay: string): Match | null {
  const first = hay.indexOf(word);
  if (first < 0) return null;
  for (let at = first; at >= 0; at = hay.indexOf(word, at + 1))
    if (starts(hay, at)) return { rank: PREFIX, points: 400 - Math.min(at, 400) };
  return { rank: WITHIN, points: 400 - Math.min(first, 400) };
}

function scattered(letters: string, hay: string): Match | null {
  let points = 0;
  let from = 0;
  for (const letter of letters) {
    const found = hay.indexOf(letter, from);
    if (found < 0) return null;
    points += found === from ? 3 : starts(hay, found) ? 2 : 1;
    from = found + 1;
  }
  return { rank: SCATTERED, points };
}

const isSign = (text: string, at: number) => !/[\p{L}\p{N}]/u.test(text[at] ?? ' ');
const starts = (text: string, at: number) => at === 0 || isSign(text, at - 1);
