// The language of the filter, as the window has it: `kind:generator status:failed dur>1s -name:search "some text"`. All
// terms must fit. The same rules as those of `runner/src/request_view/filter/parse.rs`.
import type { Fault } from '../bindings';

export type Figure = 'dur' | 'attempt' | 'items' | 'writes' | 'tokens';
export type Test =
  | { of: 'kind' | 'status' | 'name' | 'text' | 'path' | 'writesTo'; text: string }
  | { of: Figure; compare: (value: number, wanted: number) => boolean; wanted: number };
export type Term = { isNegated: boolean; test: Test };

const KINDS = ['handler', 'sequencer', 'router', 'generator', 'hook'];
const STATUSES = ['running', 'completed', 'failed', 'returned_error', 'timed_out', 'suspended', 'abandoned'];
const FIGURES: readonly string[] = ['dur', 'attempt', 'items', 'writes', 'tokens'];
const FIELDS = 'kind, status, dur, name, path, attempt, items, writes and tokens';
/** Longer ones first: `>=` is not `>`. */
const SIGNS: [string, (value: number, wanted: number) => boolean][] = [
  ['>=', (value, wanted) => value >= wanted],
  ['<=', (value, wanted) => value <= wanted],
  ['>', (value, wanted) => value > wanted],
  ['<', (value, wanted) => value < wanted],
  ['=', (value, wanted) => value === wanted],
  [':', (value, wanted) => value === wanted],
];
const UNITS: [string, number][] = [
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
];
const EXAMPLES: Record<string, string> = {
  kind: 'kind:generator',
  status: 'status:failed',
  dur: 'dur>1s, dur<=20ms',
  name: 'name:search',
  path: 'path:root/step:plan/*',
  attempt: 'attempt>0',
  items: 'items>0',
  writes: 'writes>0, writes:session.plan',
  tokens: 'tokens>100',
};

function wrong(at: number, what: string): Fault {
  const details = [{ path: String(at), message: what }];
  return { kind: 'invalid', message: `invalid filter at column ${at}: ${what}`, details };
}

/** The words between spaces, except spaces in quotes; `plain` is the position of the first quote. */
function wordsOf(text: string): { at: number; text: string; plain: number }[] {
  const words: { at: number; text: string; plain: number }[] = [];
  let word: (typeof words)[number] | null = null;
  let quote: number | null = null;
  for (const [n, letter] of [...text].entries()) {
    if (/\s/.test(letter) && quote === null) {
      word = null;
      continue;
    }
    if (!word) words.push((word = { at: n + 1, text: '', plain: Infinity }));
    if (letter === '"') {
      word.plain = Math.min(word.plain, word.text.length);
      quote = quote === null ? n + 1 : null;
    } else word.text += letter;
  }
  if (quote !== null) throw wrong(quote, 'unclosed quote; write "…" around text with spaces');
  return words;
}

/** Parses the terms of a filter; throws an error with its column. */
export function termsOf(text: string): Term[] {
  return wordsOf(text).map((word) => {
    const isNegated = word.text.startsWith('-') && word.plain > 0;
    const rest = isNegated ? word.text.slice(1) : word.text;
    const at = isNegated ? word.at + 1 : word.at;
    if (rest === '') throw wrong(at, isNegated ? 'there is nothing after "-"' : 'there is nothing between the quotes');
    // A sign inside quotes is part of the text.
    const sign = rest.slice(0, word.plain - (isNegated ? 1 : 0)).search(/[:<>=]/);
    const test: Test = sign < 0 ? { of: 'text', text: rest.toLowerCase() } : field(rest, sign, at);
    return { isNegated, test };
  });
}

function field(text: string, end: number, at: number): Test {
  const [name, rest] = [text.slice(0, end), text.slice(end)];
  const [sign, compare] = SIGNS.find(([one]) => rest.startsWith(one)) as (typeof SIGNS)[number];
  const value = rest.slice(sign.length);
  const valueAt = at + name.length + sign.length;
  if (!Object.hasOwn(EXAMPLES, name))
    throw wrong(at, `"${name}" is not a field; there are ${FIELDS}. To search for text, quote it: "${text}"`);
  if (value === '') throw wrong(valueAt, `there is nothing after "${name}${sign}"; write ${EXAMPLES[name]}`);
  if (FIGURES.includes(name)) {
    if (name === 'writes' && sign === ':' && !isNumber(value)) return { of: 'writesTo', text: value };
    return { of: name as Figure, compare, wanted: name === 'dur' ? time(value, valueAt) : number(value, valueAt) };
  }
  if (sign !== ':')
    throw wrong(at + name.length, `"${name}" cannot be compared with "${sign}"; write ${EXAMPLES[name]}`);
  if (name === 'kind' && !KINDS.includes(value))
    throw wrong(valueAt, `"${value}" is not a kind; there are ${KINDS.join(', ')}`);
  if (name === 'status' && !STATUSES.includes(value))
    throw wrong(valueAt, `"${value}" is not a status; there are ${STATUSES.join(', ')}`);
  return { of: name as 'kind' | 'status' | 'name' | 'path', text: name === 'name' ? value.toLowerCase() : value };
}

const isNumber = (text: string) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
const positive = (text: string) => (isNumber(text) && Number(text) >= 0 ? Number(text) : null);

function number(text: string, at: number): number {
  const found = positive(text);
  if (found === null) throw wrong(at, `"${text}" is not a number`);
  return found;
}

function time(text: string, at: number): number {
  const unit = UNITS.find(([one]) => text.endsWith(one) && positive(text.slice(0, -one.length)) !== null);
  if (!unit) throw wrong(at, `"${text}" is not a time; write it like 20ms, 1.5s, 2m or 1h`);
  return Number(text.slice(0, -unit[0].length)) * unit[1];
}

/** Whether a path matches a pattern (`*`: any text inside a segment, `**`: any text) or contains a text without stars. */
export function fitsPath(path: string, pattern: string): boolean {
  if (!pattern.includes('*')) return path.includes(pattern);
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (part === '*') return '[^/]*';
    return part.startsWith('*') ? '.*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  });
  return new RegExp(`^${parts.join('')}$`, 's').test(path);
}
