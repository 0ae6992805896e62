// The times of a schedule, as five fields: minute, hour, day of the month, month, day of the week.
//
// Must not: tell when the next time is. Schedules are fired by hand here; a mistake in them is told where it is written.

import { describeValue } from '../base/arguments';

const ALIASES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface Field {
  name: string;
  least: number;
  most: number;
  words: string[];
}

const FIELDS: Field[] = [
  { name: 'minute', least: 0, most: 59, words: [] },
  { name: 'hour', least: 0, most: 23, words: [] },
  { name: 'day of the month', least: 1, most: 31, words: [] },
  { name: 'month', least: 1, most: 12, words: MONTHS },
  { name: 'day of the week', least: 0, most: 7, words: DAYS },
];
const SECOND: Field = { name: 'second', least: 0, most: 59, words: [] };

/** Refuses what is no time of a schedule. */
export function checkCron(given: unknown, what: string): void {
  const problem = typeof given === 'string' ? problemOf(given.trim()) : `it is ${describeValue(given)}`;
  if (problem === undefined) return;
  throw new Error(
    `${what} has an invalid cron expression ${typeof given === 'string' ? JSON.stringify(given) : ''}: ${problem}. ` +
      'It has five fields: minute, hour, day of the month, month, day of the week',
  );
}

function problemOf(text: string): string | undefined {
  if (ALIASES.includes(text.toLowerCase())) return undefined;
  const fields = text === '' ? [] : text.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6)
    return `it has ${fields.length} field${fields.length === 1 ? '' : 's'}`;
  const kinds = fields.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  return kinds.map((kind, at) => problemOfField(fields[at] as string, kind)).find((problem) => problem !== undefined);
}

function problemOfField(text: string, field: Field): string | undefined {
  for (const part of text.toLowerCase().split(',')) {
    const [range = '', step, more] = part.split('/');
    if (more !== undefined || (step !== undefined && !/^[1-9]\d*$/.test(step))) return `"${part}" is no ${field.name}`;
    if (range === '*' || (range === '?' && field.most !== 59)) continue;
    // The last day, or the nth such day of a month.
    if (/^l$|^\d?l$|^\w+#[1-5]$/.test(range) && field.name.startsWith('day')) continue;
    const ends = range.split('-').map((end) => numberOf(end, field));
    if (ends.length > 2 || ends.some((end) => end === undefined || end < field.least || end > field.most)) {
      return `"${part}" is no ${field.name}`;
    }
  }
  return undefined;
}

function numberOf(text: string, field: Field): number | undefined {
  const word = field.words.indexOf(text);
  if (word >= 0) return word + field.least;
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
