import { expect, test } from 'vitest';
import { passedSince, pauseOf, tookWithout, workedMs } from './pause';

test('a fork starts with its own first event: what it has from its original lies before', () => {
  const pause = { from: 1_300, to: 701_300 };
  expect([900, 1_200, 1_300, 5_000, 701_300, 701_320].map((at) => passedSince(1_000, at, pause))).toEqual([
    -400, -100, 0, 0, 0, 20,
  ]);
  expect(passedSince(1_000, 5_000, null)).toBe(4_000);
});

test('no duration has the pause of a fork in it', () => {
  const pause = { from: 1_300, to: 701_300 };
  expect(tookWithout(pause, 1_000, 701_320)).toBe(320);
  expect(tookWithout(pause, 701_310, 701_320)).toBe(10);
  expect(tookWithout(pause, 1_000, 1_200)).toBe(200);
  expect(tookWithout(null, 1_000, 701_320)).toBe(700_320);
});

test('a gap of a block counts once, also if the pause of a fork lies in it', () => {
  const gaps = [
    { from: 1_290, to: 701_310 },
    { from: 701_320, to: 800_000 },
  ];
  expect(tookWithout({ from: 1_300, to: 701_300 }, 1_000, 800_010, gaps)).toBe(310);
  expect(tookWithout(null, 1_000, 701_330, gaps)).toBe(300);
  expect(workedMs({ startedAt: 1_000, durationMs: 799_010, gaps })).toBe(310);
  expect(workedMs({ startedAt: 1_000, durationMs: 5, gaps: null })).toBe(5);
  expect(workedMs({ startedAt: 1_000 })).toBeNull();
});

test('only a fork has a pause, between its last event of the original and its beginning', async () => {
  const times: Record<number, number> = { 30: 1_300, 31: 701_350 };
  const timeOf = async (seq: number) => times[seq] ?? null;
  const forked = (seq: number) => ({ forkedFrom: { requestId: 'r', seq }, startedAt: 701_300 });
  expect(await pauseOf(forked(30), timeOf)).toEqual({ from: 1_300, to: 701_300 });
  expect(await pauseOf({ startedAt: 701_300 }, timeOf)).toBeNull();
  expect(await pauseOf(forked(32), timeOf)).toBeNull();
  expect(await pauseOf(forked(30), () => Promise.reject(new Error('closed')))).toBeNull();
});
