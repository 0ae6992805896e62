// Where two texts differ, word by word: Myers' comparison over words between what the texts share at both ends. It is
// bounded, so that a megabyte costs no more than reading it; what differs more than that is one part removed, one added.

export type TextPart = { is: 'same' | 'removed' | 'added'; text: string };

/** How many words are compared, and how many of them may differ: the cost grows with the square of the latter. */
const [MOST_WORDS, MOST_EDITS] = [4000, 400];
/** A word, or white space, or one sign; a letter with its marks is never cut. */
const WORD = /[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu;
const isWordPart = (text: string) => /^[\p{L}\p{N}\p{M}_]$/u.test(text);

/** The parts of both texts in order; neighbours are never of one kind. */
export function textDiff(old: string, now: string): TextPart[] {
  const { head, tail } = sharedEnds(old, now);
  const [before, after] = [old.slice(0, head), old.slice(old.length - tail)];
  const middle = between(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  return joined([{ is: 'same', text: before }, ...middle, { is: 'same', text: after }]);
}

/** How much is the same at both ends, in whole words. */
function sharedEnds(old: string, now: string) {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old.charCodeAt(head) === now.charCodeAt(head)) head++;
  if (head < Math.max(old.length, now.length)) while (head > 0 && isInside(old, now, head)) head--;
  let tail = 0;
  while (tail < most - head && old.charCodeAt(old.length - 1 - tail) === now.charCodeAt(now.length - 1 - tail)) tail++;
  while (tail > 0 && (isCut(old, old.length - tail) || isCut(now, now.length - tail))) tail--;
  return { head, tail };
}

const isInside = (old: string, now: string, at: number) => isCut(old, at) || isCut(now, at);

/** Whether a place is within a word, or within one letter of two units. */
function isCut(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const unit = text.charCodeAt(at);
  if (unit >= 0xdc00 && unit <= 0xdfff) return true;
  return isWordPart(text.charAt(at - 1)) && isWordPart(text.charAt(at));
}

function between(old: string, now: string): TextPart[] {
  const whole: TextPart[] = [
    { is: 'removed', text: old },
    { is: 'added', text: now },
  ];
  if (!old || !now) return whole;
  const [left, right] = [wordsOf(old), wordsOf(now)];
  return (left && right && edits(left, right)) || whole;
}

function wordsOf(text: string): string[] | null {
  const words: string[] = [];
  for (const [word] of text.matchAll(WORD)) if (words.push(word) > MOST_WORDS) return null;
  return words;
}

/** The shortest way from one list of words to the other; null if it is longer than is looked for. */
function edits(old: readonly string[], now: readonly string[]): TextPart[] | null {
  const ways: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  const most = Math.min(MOST_EDITS, old.length + now.length);
  for (let count = 0; count <= most; count++) {
    ways.push(new Map(reached));
    for (let line = -count; line <= count; line += 2) {
      const [above, below] = [reached.get(line - 1) ?? -1, reached.get(line + 1) ?? -1];
      let at = line === -count || (line !== count && above < below) ? below : above + 1;
      while (at < old.length && at - line < now.length && old[at] === now[at - line]) at++;
      reached.set(line, at);
      if (at >= old.length && at - line >= now.length) return walked(ways, old, now);
    }
    reached = new Map([...reached].filter(([line]) => Math.abs(line) <= count + 1));
  }
  return null;
}

function walked(ways: readonly Map<number, number>[], old: readonly string[], now: readonly string[]): TextPart[] {
  const parts: TextPart[] = [];
  let [x, y] = [old.length, now.length];
  for (let count = ways.length - 1; count >= 0; count--) {
    const [reached, line] = [ways[count] as Map<number, number>, x - y];
    const [above, below] = [reached.get(line - 1) ?? -1, reached.get(line + 1) ?? -1];
    const isAdded = line === -count || (line !== count && above < below);
    const from = isAdded ? line + 1 : line - 1;
    const [beforeX, beforeY] = count === 0 ? [0, 0] : [reached.get(from) ?? 0, (reached.get(from) ?? 0) - from];
    while (x > beforeX && y > beforeY && old[x - 1] === now[y - 1]) {
      parts.push({ is: 'same', text: old[x - 1] as string });
      [x, y] = [x - 1, y - 1];
    }
    if (count === 0) break;
    if (isAdded) parts.push({ is: 'added', text: now[y - 1] as string });
    else parts.push({ is: 'removed', text: old[x - 1] as string });
    [x, y] = [beforeX, beforeY];
  }
  return parts.reverse();
}

/** Parts of one kind are one; white space between two changes belongs to both, so that a phrase is read as one. */
function joined(parts: readonly TextPart[]): TextPart[] {
  const out: TextPart[] = [];
  let [removed, added] = ['', ''];
  const flush = () => {
    if (removed) out.push({ is: 'removed', text: removed });
    if (added) out.push({ is: 'added', text: added });
    [removed, added] = ['', ''];
  };
  parts.forEach(({ is, text }, n) => {
    const isBetween = is === 'same' && /^\s+$/.test(text) && removed && added && parts[n + 1]?.is !== 'same';
    if (is === 'removed' || (isBetween && n + 1 < parts.length)) removed += text;
    if (is === 'added' || (isBetween && n + 1 < parts.length)) added += text;
    if (is !== 'same' || (isBetween && n + 1 < parts.length) || !text) return;
    flush();
    const last = out.at(-1);
    if (last?.is === 'same') last.text += text;
    else out.push({ is: 'same', text });
  });
  flush();
  return out;
}

/** The parts as they are shown in a row: long shared stretches keep the words beside what differs. */
export function shownParts(parts: readonly TextPart[], around = 24, most = 120): TextPart[] {
  return parts.map(({ is, text }, n) => {
    if (is !== 'same') return { is, text: firstPart(text, most) };
    const [isFirst, isLast] = [n === 0, n === parts.length - 1];
    if (text.length <= (isFirst || isLast ? around : 2 * around + 1)) return { is, text };
    if (isFirst) return { is, text: lastPart(text, around) };
    if (isLast) return { is, text: firstPart(text, around) };
    return { is, text: `${text.slice(0, around)}…${text.slice(text.length - around)}` };
  });
}

/** The end of a text, with … for what is not shown. */
export const lastPart = (text: string, most: number) =>
  text.length > most ? `…${text.slice(text.length - most)}` : text;

/** The start of a text, with … for what is not shown. */
export const firstPart = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
