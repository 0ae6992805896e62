import { expect, test } from 'vitest';
import { barsOf, barWords, isIn, spanWord, sumOf } from './days';

const day = (day: string, runs: number, failed = 0) => ({ day, runs, failed, tokens: 0 });

test('a few days are bars of a day, with the newest one last', () => {
  const { bars, span } = barsOf([day('2026-11-27', 3, 1), day('2026-11-29', 5)]);
  expect([span, bars.length]).toEqual([1, 14]);
  expect(bars.slice(-3).map(({ from, runs, failed }) => [from, runs, failed])).toEqual([
    ['2026-11-27', 3, 1],
    ['2026-11-28', 0, 0],
    ['2026-11-29', 5, 0],
  ]);
  expect(bars[13]).toMatchObject({ until: '2026-11-30' });
});

test('many days are bars of several days, and no run is lost', () => {
  const days = Array.from({ length: 400 }, (_, n) => {
    const date = new Date(2025, 9, 1 + n);
    const two = (n: number) => String(n).padStart(2, '0');
    return day(`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, 2);
  });
  const { bars, span } = barsOf(days);
  expect(span).toBe(7);
  expect(bars.length).toBeLessThanOrEqual(60);
  expect(bars.reduce((sum, bar) => sum + bar.runs, 0)).toBe(800);
  expect(bars.map((bar) => bar.from).slice(1)).toEqual(bars.map((bar) => bar.until).slice(0, -1));
  expect(spanWord(span)).toBe('week');
});

test('a bar is named by its days', () => {
  expect(barWords({ from: '2026-11-29', until: '2026-11-30' })).toBe('29 Nov');
  expect(barWords({ from: '2026-11-29', until: '2026-12-06' })).toBe('29 Nov – 5 Dec');
});

test('no days are no bars', () => {
  expect(barsOf([])).toEqual({ bars: [], span: 1 });
});

test('a range is added up by its days, also if it is a part of a bar', () => {
  const days = [day('2026-11-25', 9, 9), day('2026-11-27', 3, 1), { ...day('2026-11-29', 5), costUsd: 0.5 }];
  const range = { from: '2026-11-26', until: '2026-11-30' };
  expect(sumOf(days, range)).toEqual({ runs: 8, failed: 1, tokens: 0, costUsd: 0.5 });
  expect(sumOf(days, { ...range, until: '2026-11-29' })).toMatchObject({ runs: 3, costUsd: null });
  expect(isIn({ from: '2026-11-23', until: '2026-11-30' }, { from: '2026-11-25', until: '2026-11-26' })).toBe(true);
  expect(isIn({ from: '2026-11-23', until: '2026-11-25' }, { from: '2026-11-25', until: '2026-11-26' })).toBe(false);
});
