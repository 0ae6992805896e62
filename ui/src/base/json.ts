// Looking at any JSON value without paying for its size: kinds, counts and one-line previews.
// Nothing here stringifies a whole value; a preview stops as soon as it is full.
import { thousands } from './thousands';

export type Kind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'absent';

export function kindOf(value: unknown): Kind {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  if (type === 'object' || type === 'string' || type === 'number' || type === 'boolean') return type;
  return 'string';
}

export const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  isContainer(value) && !Array.isArray(value);

/** How many children a container has; 0 for everything else. */
export function count(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isContainer(value) ? Object.keys(value).length : 0;
}

/** What kind of thing this is and how big, in words: `object, 3 keys`, `text, 1,048,576 characters`. */
export function describe(value: unknown): string {
  const kind = kindOf(value);
  if (kind === 'array') return `list, ${plural(count(value), 'entry', 'entries')}`;
  if (kind === 'object') return `object, ${plural(count(value), 'key', 'keys')}`;
  if (kind === 'string') return `text, ${plural(String(value).length, 'character', 'characters')}`;
  return kind === 'absent' ? 'no value' : kind;
}

export const plural = (n: number, one: string, many: string) => `${thousands(n)} ${n === 1 ? one : many}`;

// Characters without a picture of their own that change how the text around them reads: direction marks, control
// characters, lone surrogates, and the tags with which a text can be hidden in another.
const MISLEADING = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
// On one line also those that separate lines, and those that show nothing.
const HIDDEN = /[\p{Cc}\p{Cs}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const SPACES = /[\t\n\r]/;

/** A text on one line with its characters that reorder or hide others as JSON escapes. */
export const visible = (text: string): string => text.replace(HIDDEN, escapeOf);

/** A key on one line. One that is empty, or begins or ends with a space, is quoted: it would not be seen. */
export const keyText = (key: string): string => visible(key.trim() === key && key ? key : JSON.stringify(key));

/** As a JSON escape; beyond the first plane one for each of its halves. */
const escapeOf = (letter: string): string =>
  Array.from(letter.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** A text as it is, with those characters as JSON escapes that make it read as another text. Flows and people wrote it. */
export const inOrder = (text: string): string =>
  text.replace(MISLEADING, (letter) => (SPACES.test(letter) ? letter : escapeOf(letter)));

/** At most `most` characters on one line, with … where something was left out. */
export function preview(value: unknown, most = 80): string {
  const text = write(value, most + 1);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function write(value: unknown, room: number): string {
  if (value === undefined) return 'no value';
  if (typeof value === 'string') return visible(JSON.stringify(value.length > room ? value.slice(0, room) : value));
  if (!isContainer(value)) return String(value);
  const list = Array.isArray(value);
  // A list is walked by index: asking 100,000 entries for their keys costs more than showing the first five.
  const keys = list ? null : Object.keys(value);
  const size = list ? value.length : (keys?.length ?? 0);
  let text = list ? '[' : '{';
  for (let index = 0; index < size; index++) {
    if (text.length >= room) return text;
    if (index > 0) text += ', ';
    const key = keys?.[index];
    text += key === undefined ? '' : `${visible(key)}: `;
    text += write(list ? value[index] : (value as Record<string, unknown>)[key ?? ''], room - text.length);
  }
  return text + (list ? ']' : '}');
}

/** Text of a value that a person may edit or copy. */
export const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? '';
