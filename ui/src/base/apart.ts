// Distinguishes rows that look the same by their start time. Pure.
import { clock, moment } from './time';

type Row = { id: string; /** What a person reads in the row. */ looks: string; /** In milliseconds. */ at: number };

/**
 * The words that tell a row from the others, by its id; rows that read like no other have none. The time is to the
 * second, and to the millisecond where two rows would still read alike. A row of another day names that day.
 */
export function apart(rows: readonly Row[]): Map<string, string> {
  const alike = new Map<string, Row[]>();
  for (const row of rows) {
    const found = alike.get(row.looks);
    if (found) found.push(row);
    else alike.set(row.looks, [row]);
  }
  const words = new Map<string, string>();
  for (const same of alike.values()) {
    if (same.length < 2) continue;
    const seconds = new Set(same.map(({ at }) => moment(at)));
    const days = new Set(same.map(({ at }) => moment(at).slice(0, 10)));
    for (const { id, at } of same) {
      const time = seconds.size === same.length ? clock(at).slice(0, 8) : clock(at);
      words.set(id, days.size > 1 ? `${moment(at).slice(0, 10)} ${time}` : time);
    }
  }
  return words;
}
