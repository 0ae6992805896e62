import { expect, test } from 'vitest';
import { durationsOf } from './durations';

test('times that are close stand in cells of their own', () => {
  const took = [343, 363, 424].map((took, n) => ({ took, hasFailed: n === 2 }));
  expect(durationsOf(took)).toEqual({ from: 305, to: 430, cells: [1, 2], failures: [0, 1] });
});

test('there are at most eight cells, and every member is in one', () => {
  const took = Array.from({ length: 500 }, (_, n) => ({ took: n * n, hasFailed: n % 7 === 0 }));
  const found = durationsOf(took);
  expect(found?.cells.length).toBeLessThanOrEqual(8);
  expect(found?.cells.reduce((sum, count) => sum + count)).toBe(500);
  expect(found?.failures.reduce((sum, count) => sum + count)).toBe(72);
  expect(durationsOf([])).toBeNull();
});
