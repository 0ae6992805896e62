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

// Characters that reorder or hide the text around them; as JSON escapes they stay JSON.
const HIDDEN = /[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A text on one line with its characters that reorder or hide others as escapes. */
export const visible = (text: string): string => text.replace(HIDDEN, escapeOf);

const escapeOf = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

// Characters that change in which direction the text around them reads.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text as it is, with those characters as escapes that make it read in another order than it has. */
export const inOrder = (text: string): string => text.replace(TURNING, escapeOf);

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
