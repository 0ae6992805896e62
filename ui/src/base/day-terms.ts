// The terms of a filter that ask for a range of days, `since:2026-11-20 until:2026-11-21`. Pure text: what a filter means
// is said by what filters.

/** The filter with this range of days in place of the one it has. */
export function withDays(filter: string, from: string, until: string): string {
  const rest = termsOf(filter).filter((term) => !/^-?(since|until):/.test(term));
  return [...rest, `since:${from}`, `until:${until}`].join(' ');
}

/** The range of days that a filter asks for, if it asks for both ends. */
export function daysIn(filter: string): { from: string; until: string } | null {
  const value = (name: string) =>
    termsOf(filter)
      .find((term) => term.startsWith(`${name}:`))
      ?.slice(name.length + 1);
  const [from, until] = [value('since'), value('until')];
  return from && until ? { from, until } : null;
}

/** Without the range of days. */
export const withoutDays = (filter: string): string =>
  termsOf(filter)
    .filter((term) => !/^-?(since|until):/.test(term))
    .join(' ');

/** The terms of a filter: between blanks, where quotes keep blanks together. */
const termsOf = (filter: string): string[] => filter.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];

/** What a chart is drawn of whose bars choose a range of days: without that range, so that another can be chosen. */
export const chartedBy = (filter: string): string => (daysIn(filter) ? withoutDays(filter) : filter);
