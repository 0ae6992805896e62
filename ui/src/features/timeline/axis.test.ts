import { expect, test } from 'vitest';
import { axisOf, cutMarks, fitted, liveEnd, marksOf, offsetLabel, placeOf, timeAt, zoomed } from './axis';

const HOUR = 3_600_000;
const all = (axis: { length: number }) => ({ left: 0, right: axis.length });

test('without a long idle time the axis is the time itself', () => {
  const axis = axisOf({ from: 1000, to: 2000 }, [{ from: 1400, to: 1500 }], true);
  expect(axis.length).toBe(1000);
  expect(placeOf(axis, 1250)).toBe(250);
  expect(timeAt(axis, 250)).toBe(1250);
});

test('a pause of two hours takes a small share, and what happened around it the rest', () => {
  const axis = axisOf({ from: 0, to: 2 * HOUR + 2000 }, [{ from: 1000, to: 2 * HOUR + 1000 }], true);
  expect(axis.pieces.map((piece) => piece.isCut)).toEqual([false, true, false]);
  expect(axis.length).toBe(2050);
  expect(placeOf(axis, 1000)).toBe(1000);
  expect(placeOf(axis, 2 * HOUR + 1000)).toBe(1050);
  expect(placeOf(axis, 2 * HOUR + 2000)).toBe(2050);
  expect(cutMarks(axis, all(axis), 410)).toEqual([{ x: 200, width: 10, label: '2 h 00 m', isShown: true }]);
  expect(axisOf({ from: 0, to: 2 * HOUR + 2000 }, [{ from: 1000, to: 2 * HOUR + 1000 }], false).length).toBe(
    2 * HOUR + 2000,
  );
});

test('every place has its time, and every time its place', () => {
  const gaps = [
    { from: 500, to: 9000 },
    { from: 9400, to: 30_000 },
  ];
  const axis = axisOf({ from: 0, to: 31_000 }, gaps, true);
  expect(axis.pieces.filter((piece) => piece.isCut)).toHaveLength(2);
  for (let time = 0; time <= 31_000; time += 50) expect(timeAt(axis, placeOf(axis, time))).toBeCloseTo(time, 6);
  expect(placeOf(axis, -5)).toBe(0);
  expect(placeOf(axis, 99_999)).toBe(axis.length);
});

test('an idle time at the start of the request is cut too, and many are not all cut', () => {
  expect(axisOf({ from: 0, to: 11_000 }, [{ from: 0, to: 10_000 }], true).pieces[0]).toMatchObject({ isCut: true });
  const many = Array.from({ length: 1000 }, (_, n) => ({ from: n * 1000, to: n * 1000 + 900 }));
  const axis = axisOf({ from: 0, to: 1_000_000 }, many, true);
  expect(axis.pieces.filter((piece) => piece.isCut).length).toBeLessThanOrEqual(30);
  expect(axis.length).toBeGreaterThan(0);
});

test.each([0, 3, 40])('what a resume did in %s ms after a long pause has room, and marks of its own', (ms) => {
  const [pause, end] = [{ from: 10_000, to: 10_000 + HOUR }, 10_000 + HOUR + ms];
  const axis = axisOf({ from: 0, to: end }, [pause], true);
  expect(axis.pieces.map((piece) => piece.isCut)).toEqual([false, true, false]);
  const resumed = axis.pieces[2] ?? { at: 0, size: 0 };
  expect(resumed.size / axis.length).toBeGreaterThan(0.1);
  expect(axis.pieces[0]?.size).toBe(10_000);
  for (const time of [0, 5000, 10_000, 10_000 + HOUR, end])
    expect(timeAt(axis, placeOf(axis, time))).toBeCloseTo(time, 6);
  const marks = marksOf(axis, { left: resumed.at, right: axis.length }, 700);
  expect(marks.length).toBeGreaterThan(0);
  for (const [n, mark] of marks.entries()) expect(mark.x - (marks[n - 1]?.x ?? -100)).toBeGreaterThan(55);
});

test('between more cuts each short piece has less room, and what took long keeps most', () => {
  const gaps = Array.from({ length: 4 }, (_, n) => ({ from: 10_000 + n * HOUR + 1, to: 10_000 + (n + 1) * HOUR }));
  const axis = axisOf({ from: 0, to: 10_000 + 4 * HOUR + 1 }, gaps, true);
  const sizes = axis.pieces.filter((piece) => !piece.isCut).map((piece) => piece.size / axis.length);
  expect(sizes).toHaveLength(5);
  expect(sizes[0]).toBeGreaterThan(0.6);
  for (const size of sizes.slice(1)) expect(size).toBeGreaterThan(0.05);
});

test('zooming keeps what is under the pointer, and never leaves the axis', () => {
  const once = zoomed({ left: 0, right: 1000 }, 0.5, 250, 1000);
  expect(once).toEqual({ left: 125, right: 625 });
  expect(zoomed(once ?? { left: 0, right: 1 }, 4, 250, 1000)).toBeNull();
  expect(zoomed({ left: 0, right: 10 }, 0.01, 5, 1000)).toEqual({ left: 3, right: 7 });
  expect(fitted({ left: -50, right: 50 }, 1000)).toEqual({ left: 0, right: 100 });
  expect(fitted({ left: 950, right: 1050 }, 1000)).toEqual({ left: 900, right: 1000 });
});

test('marks are round, fit, and never read alike', () => {
  const axis = axisOf({ from: 7, to: 1007 }, [], true);
  expect(marksOf(axis, all(axis), 500).map((mark) => mark.label)).toEqual([
    '0',
    '200 ms',
    '400 ms',
    '600 ms',
    '800 ms',
    '1 s',
  ]);
  const long = axisOf({ from: 0, to: 3 * HOUR }, [], true);
  for (const left of [0, 1234, HOUR, 2 * HOUR + 61_001]) {
    for (const size of [4, 25, 900, 15_000, 400_000]) {
      const labels = marksOf(long, { left, right: left + size }, 700).map((mark) => mark.label);
      expect(labels.length).toBeGreaterThan(1);
      expect([...new Set(labels)]).toEqual(labels);
    }
  }
});

test('marks keep out of each other and out of cuts', () => {
  const axis = axisOf({ from: 0, to: 2 * HOUR + 2000 }, [{ from: 1000, to: 2 * HOUR + 1000 }], true);
  const marks = marksOf(axis, all(axis), 600);
  for (const [n, mark] of marks.entries()) expect(mark.x - (marks[n - 1]?.x ?? -100)).toBeGreaterThan(55);
  expect(marks.at(-1)?.label).toMatch(/^2 h 00 m 0\d s|^2 h 00 m/);
});

test.each([
  [0, 100, '0'],
  [250, 50, '250 ms'],
  [1500, 500, '1.5 s'],
  [2000, 500, '2 s'],
  [61_000, 1000, '1 m 01 s'],
  [61_250, 50, '1 m 01.25 s'],
  [3_600_000, 60_000, '1 h 00 m'],
])('%s ms with a step of %s reads %s', (ms, step, text) => expect(offsetLabel(ms, step)).toBe(text));

test('a running axis rests on a round end while bars grow', () => {
  expect(liveEnd(1000, 2100)).toBe(3000);
  expect(liveEnd(1000, 2900)).toBe(3000);
  // After a pause of an hour it does not end hours ahead.
  expect(liveEnd(0, HOUR + 2100, [{ from: 1000, to: HOUR + 1000 }])).toBe(HOUR + 5000);
});

test('the pause of a fork takes no room, and times count from its own start', () => {
  const pause = { from: 1300, to: 701_300 };
  const axis = axisOf({ from: 1000, to: 701_320 }, [{ from: 1290, to: 701_305 }], true, pause);
  expect(axis.length).toBeCloseTo(320);
  expect(placeOf(axis, 1300)).toBeCloseTo(placeOf(axis, 701_300));
  expect(placeOf(axis, 701_310)).toBeCloseTo(310);
  expect(cutMarks(axis, { left: 0, right: axis.length }, 800)).toEqual([]);
  const labels = marksOf(axis, { left: 0, right: axis.length }, 800).map((mark) => mark.label);
  expect(labels).toContain('−200 ms');
  expect(labels.filter((label) => !label.endsWith(' ms'))).toEqual(['0']);
});
