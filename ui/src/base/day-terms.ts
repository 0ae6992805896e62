// The terms of a filter that ask for a range of days, `since:2026-11-20 until:2026-11-21`. Pure text: what a filter means
// is said by what filters.

const RANGE = /^-?(since|until):/;

/** The filter with this range of days in place of the one it has. */
export function withDays(filter: string, from: string, until: string): string {
  const rest = termsOf(filter).filter((term) => !RANGE.test(term));
  return [...rest, `since:${from}`, `until:${until}`].join(' ');
}

const DAY = /^(since|until):(\d{4}-\d\d-\d\d)$/;

/**
 * The range of whole days that a filter asks for. Null for any other range of time: `since:24h`, a time of a day, an
 * open end, several ranges.
 */
export function daysIn(filter: string): { from: string; until: string } | null {
  const found = termsOf(filter).filter((term) => RANGE.test(term));
  const day = (name: string) => found.map((term) => DAY.exec(term)).find((day) => day?.[1] === name)?.[2];
  const [from, until] = [day('since'), day('until')];
  return found.length === 2 && from && until && from < until ? { from, until } : null;
}

/** Without the range of days. */
export const withoutDays = (filter: string): string =>
  termsOf(filter)
    .filter((term) => !RANGE.test(term))
    .join(' ');

/** The terms of a filter: between blanks, where quotes keep blanks together. */
export const termsOf = (filter: string): string[] => filter.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];

/** What a chart is drawn of whose bars choose a range of days: without that range, so that another can be chosen. */
export const chartedBy = (filter: string): string => (daysIn(filter) ? withoutDays(filter) : filter);
