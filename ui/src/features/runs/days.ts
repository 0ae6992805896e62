// The bars of the chart above the list of runs: days, or weeks and months where there are too many of them.
import type { RunDay } from '../../host/host';

export type Bar = { from: string; until: string; runs: number; failed: number; tokens: number; costUsd: number | null };

const MAX_BARS = 60;
/** Fewer bars would be as broad as a hand. */
const MIN_BARS = 14;
const SPANS = [1, 7, 30, 91, 365] as const;

const toDate = (day: string) => {
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date);
};
const two = (n: number) => String(n).padStart(2, '0');
const textOf = (date: Date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
/** Days are not always of 24 hours, so they are counted by the calendar. */
const added = (day: string, days: number) => {
  const date = toDate(day);
  date.setDate(date.getDate() + days);
  return textOf(date);
};
const between = (from: string, until: string) => Math.round((+toDate(until) - +toDate(from)) / 86_400_000);

/** One bar for each day from the first to the last, or for several days where there are many; oldest first. */
export function barsOf(days: readonly RunDay[]): { bars: Bar[]; span: number } {
  const [first, last] = [days[0]?.day, days[days.length - 1]?.day];
  if (!first || !last) return { bars: [], span: 1 };
  const length = between(first, last) + 1;
  const span = SPANS.find((span) => length / span <= MAX_BARS) ?? Math.ceil(length / MAX_BARS);
  const count = Math.max(Math.ceil(length / span), MIN_BARS);
  // The last bar ends with the last day, so that the newest one is whole.
  const begin = added(last, 1 - count * span);
  const bars = Array.from({ length: count }, (_, n): Bar => {
    const from = added(begin, n * span);
    return { from, until: added(from, span), runs: 0, failed: 0, tokens: 0, costUsd: null };
  });
  for (const day of days) {
    const bar = bars[Math.floor(between(begin, day.day) / span)];
    if (!bar) continue;
    bar.runs += day.runs;
    bar.failed += day.failed;
    bar.tokens += day.tokens;
    if (day.costUsd != null) bar.costUsd = (bar.costUsd ?? 0) + day.costUsd;
  }
  return { bars, span };
}

type Sum = Omit<Bar, 'from' | 'until'>;
type Days = Pick<Bar, 'from' | 'until'>;

/** What the days of a range come to. A range may begin or end within a bar. */
export function sumOf(days: readonly RunDay[], { from, until }: Days): Sum {
  const sum: Sum = { runs: 0, failed: 0, tokens: 0, costUsd: null };
  for (const one of days) {
    if (one.day < from || one.day >= until) continue;
    sum.runs += one.runs;
    sum.failed += one.failed;
    sum.tokens += one.tokens;
    if (one.costUsd != null) sum.costUsd = (sum.costUsd ?? 0) + one.costUsd;
  }
  return sum;
}

/** Whether a bar has days of a range. */
export const isIn = (bar: Days, range: Days): boolean => bar.from < range.until && bar.until > range.from;

export const spanWord = (span: number): string =>
  ({ 1: 'day', 7: 'week', 30: '30 days', 91: 'quarter', 365: 'year' })[span] ?? `${span} days`;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
export const dayWords = (day: string): string => {
  const date = toDate(day);
  return `${date.getDate()} ${MONTHS[date.getMonth()] ?? ''}`;
};
/** `20 Nov`, or `20 Nov – 26 Nov` of several days. */
export const barWords = ({ from, until }: Days): string => {
  const last = added(until, -1);
  return last === from ? dayWords(from) : `${dayWords(from)} – ${dayWords(last)}`;
};
