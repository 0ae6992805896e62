import { expect, test } from 'vitest';
import { passedSince, pauseOf } from './pause';

test('the time between leaving an original and starting counts for nothing', () => {
  const pause = { from: 1_300, to: 701_300 };
  expect([900, 1_200, 1_300, 5_000, 701_300, 701_320].map((at) => passedSince(1_000, at, pause))).toEqual([
    0, 200, 300, 300, 300, 320,
  ]);
  expect(passedSince(1_000, 5_000, null)).toBe(4_000);
});

test('only a fork has a pause, between its last event of the original and its first own', async () => {
  const times: Record<number, number> = { 30: 1_300, 31: 701_300 };
  const timeOf = async (seq: number) => times[seq] ?? null;
  expect(await pauseOf(30, timeOf)).toEqual({ from: 1_300, to: 701_300 });
  expect(await pauseOf(null, timeOf)).toBeNull();
  expect(await pauseOf(31, timeOf)).toBeNull();
  expect(await pauseOf(30, () => Promise.reject(new Error('closed')))).toBeNull();
});
