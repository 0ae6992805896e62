// Where two texts differ, cheaply enough for a megabyte: what they share at both ends, and the two middles.

export type TextDiff = { before: string; removed: string; added: string; after: string };

export function textDiff(old: string, now: string): TextDiff {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old.charCodeAt(head) === now.charCodeAt(head)) head++;
  let tail = 0;
  while (tail < most - head && old.charCodeAt(old.length - 1 - tail) === now.charCodeAt(now.length - 1 - tail)) tail++;
  return {
    before: old.slice(0, head),
    removed: old.slice(head, old.length - tail),
    added: now.slice(head, now.length - tail),
    after: old.slice(old.length - tail),
  };
}

/** The end of a text, with … for what is not shown. */
export const lastPart = (text: string, most: number) =>
  text.length > most ? `…${text.slice(text.length - most)}` : text;

/** The start of a text, with … for what is not shown. */
export const firstPart = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
