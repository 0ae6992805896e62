import { expect, test } from 'vitest';
import type { BlockRow, RequestRow } from '../../host/host';
import { axisOf, barOf, failureMarks, marksOf } from './layout';

const request = { startedAt: 1000, finishedAt: 2000 } as RequestRow;
const block = (startedAt: number, durationMs: number | null) => ({ startedAt, durationMs }) as BlockRow;

test('a finished request fills the axis exactly', () => {
  expect(axisOf(request, [block(1000, 900)], 99_999, false)).toEqual({ from: 1000, to: 2000 });
  expect(axisOf({ ...request, finishedAt: null }, [block(1500, 900)], 99_999, false)).toEqual({ from: 1000, to: 2400 });
});

test('a running axis rests on a round end while bars grow', () => {
  const early = axisOf(request, [], 2100, true);
  expect(early).toEqual({ from: 1000, to: 3000 });
  expect(axisOf(request, [], 2900, true)).toEqual(early);
});

test('a running bar reaches to now', () => {
  expect(barOf(block(1500, null), { from: 1000, to: 2000 }, 1750, true)).toEqual({ left: 50, width: 25 });
  expect(barOf(block(1500, null), { from: 1000, to: 2000 }, 1750, false)).toEqual({ left: 50, width: 50 });
});

test('a bar never leaves the axis', () => {
  expect(barOf(block(0, 9999), { from: 1000, to: 2000 }, 0, false)).toEqual({ left: 0, width: 100 });
});

test('marks are round and fit', () => {
  expect(marksOf({ from: 0, to: 1000 }, 500).map((mark) => mark.at)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(marksOf({ from: 0, to: 1000 }, 20).map((mark) => mark.at)).toEqual([0, 1000]);
});

test('marks are never closer than the clock is fine', () => {
  expect(marksOf({ from: 0, to: 2 }, 500).map((mark) => mark.at)).toEqual([0, 1, 2]);
  expect(marksOf({ from: 0, to: 1 }, 500).map((mark) => mark.at)).toEqual([0, 1]);
});

test('many failures become few marks', () => {
  expect(
    failureMarks(
      Array.from({ length: 5000 }, (_, n) => n + 1),
      5000,
    ).length,
  ).toBeLessThanOrEqual(121);
  expect(failureMarks([5], 9)).toEqual([0.5]);
});
