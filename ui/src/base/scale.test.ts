import { expect, test } from 'vitest';
import { fraction, roundUp, ticks } from './scale';

test('a fraction is clamped and defined for an empty range', () => {
  expect(fraction(5, 0, 10)).toBe(0.5);
  expect(fraction(-5, 0, 10)).toBe(0);
  expect(fraction(50, 0, 10)).toBe(1);
  expect(fraction(5, 5, 5)).toBe(0);
});

test.each([
  [0, 1],
  [1, 1],
  [3, 5],
  [5, 5],
  [51, 100],
  [0.03, 0.05],
  [1000, 1000],
])('%s rounds up to %s', (from, to) => expect(roundUp(from)).toBeCloseTo(to));

test('ticks are round, and not many more than requested', () => {
  expect(ticks(1000, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(ticks(0, 5)).toEqual([0]);
  expect(ticks(37, 4)).toEqual([0, 10, 20, 30]);
});
