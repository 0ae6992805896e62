// Texts for models: titles, lists, tables, tags. What is empty or false is left out, so that conditions stand in line.
//
// Must not: read a state or a context. These are functions of their arguments.

import { describeValue } from '../base/arguments';

export type Part = string | null | undefined | false;

function isText(part: unknown): part is string {
  return typeof part === 'string' && part !== '';
}

/** `## Title`, and what stands under it. `{ title, level }` makes a title of another level. */
export function section(title: string | { title: string; level?: number }, ...content: Part[]): string {
  const { title: words, level = 2 } = typeof title === 'string' ? { title } : title;
  if (!Number.isInteger(level) || level < 1 || level > 6) {
    throw new TypeError(`section: level must be a whole number from 1 to 6, got ${describeValue(level)}`);
  }
  return [`${'#'.repeat(level)} ${words}`, ...content.filter(isText)].join('\n');
}

export function list(items: readonly Part[], options: { ordered?: boolean; bullet?: string; prefix?: string } = {}) {
  const bullet = options.bullet ?? options.prefix ?? '-';
  return items
    .filter(isText)
    .map((item, at) => (options.ordered ? `${at + 1}. ${item}` : `${bullet} ${item}`))
    .join('\n');
}

export function keyValues(data: Record<string, unknown>): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => `${key}: ${String(value)}`)
    .join('\n');
}

export function entries<T>(record: Record<string, T>, formatter: (key: string, value: T) => Part): string {
  return Object.entries(record)
    .map(([key, value]) => formatter(key, value))
    .filter(isText)
    .join('\n');
}

/** Records as a Markdown table. Without `columns`, the keys of all records in the order of their first use. */
export function table(
  rows: readonly Record<string, unknown>[],
  options: { columns?: readonly string[]; headers?: Record<string, string> } = {},
): string {
  if (rows.length === 0) return '';
  const columns = options.columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return '';
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    const words = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return words.replace(/\|/g, '\\|').replace(/\r?\n/g, ' ');
  };
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map((column) => cell(options.headers?.[column] ?? column))),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((column) => cell(row[column])))),
  ].join('\n');
}

export function codeBlock(code: string, language = ''): string {
  return '```' + language + '\n' + code + '\n```';
}

/** Parts with an empty line between them. */
export function join(...parts: Part[]): string {
  return parts.filter(isText).join('\n\n');
}

/** The content where the condition holds; a function makes it only then. */
export function when(condition: unknown, content: string | (() => string)): string | undefined {
  if (!condition) return undefined;
  return typeof content === 'function' ? content() : content;
}
