// A value that stays where it is: what is known of it, and how its parts are read. What may be large is shown through
// this, so that no part of the window holds more of it than a person looked at.
import { thousands } from './thousands';

export type LargeKind = 'object' | 'list' | 'text' | 'scalar';
/** `count` is of entries, keys, or characters. */
export type Large = { kind: LargeKind; bytes: number; count: number; head: string };
/** A value that came along, or what is known of one that did not. */
export type Shown = { inline: unknown; large?: never } | { large: Large; inline?: never };

export type LargePage = {
  kind: LargeKind;
  bytes: number;
  count: number;
  offset: number;
  entries: { key?: string | null; value: Shown }[];
  text?: string | null;
};
export type LargeHits = { hits: { path: string; around: string }[]; more: boolean };

/** Reads parts of one value; paths are JSON pointers in it. */
export type LargeSource = {
  page: (path: string, offset: number, limit: number) => Promise<LargePage>;
  find: (text: string) => Promise<LargeHits>;
  whole: (path: string) => Promise<unknown>;
  /** Asks for a file and writes the value at `path` to it. Returns the file, or null if cancelled. */
  save?: (path: string, kind: LargeKind) => Promise<string | null>;
};

/** The pointer of an entry. */
export const below = (path: string, key: string | number): string =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

const WORDS: Record<LargeKind, [string, string, string]> = {
  object: ['object', 'key', 'keys'],
  list: ['list', 'entry', 'entries'],
  text: ['text', 'character', 'characters'],
  scalar: ['value', 'character', 'characters'],
};

/** `list, 20,000 entries`. */
export function sizeOf({ kind, count }: Pick<Large, 'kind' | 'count'>): string {
  const [name, one, many] = WORDS[kind];
  return `${name}, ${thousands(count)} ${count === 1 ? one : many}`;
}
