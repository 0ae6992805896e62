import { expect, test } from 'vitest';
import { age, ago, clockOn, dayName, duration, exactOffset, offset, when } from './time';

test.each([
  [0, '0 ms'],
  [0.4, '<1 ms'],
  [340.4, '340 ms'],
  [999.7, '1.00 s'],
  [1254, '1.25 s'],
  [12_340, '12.3 s'],
  [59_960, '1 m 00 s'],
  [187_000, '3 m 07 s'],
  [7_500_000, '2 h 05 m'],
  [-1, '–'],
  [NaN, '–'],
])('%s ms reads %s', (ms, text) => expect(duration(ms)).toBe(text));

test('an offset is signed', () => {
  expect(offset(1200)).toBe('+1.20 s');
  expect(offset(-5)).toBe('−5 ms');
});

test('ago picks the coarsest unit', () => {
  const now = Date.UTC(2026, 0, 10);
  expect(ago(now - 10_000, now)).toBe('just now');
  expect(ago(now - 50_000, now)).toBe('1 min ago');
  expect(ago(now - 5 * 3_600_000, now)).toBe('5 h ago');
  expect(ago(now - 30 * 86_400_000, now)).toMatch(/^2025-12-1\d$/);
});

test.each([
  [0, '+0 ms'],
  [250.4, '+250 ms'],
  [1007, '+1.007 s'],
  [187_250, '+3:07.250'],
  [8_185_123, '+2:16:25.123'],
  [-3, '−3 ms'],
  [-0.2, '+0 ms'],
])('%s ms after the start reads %s', (ms, text) => expect(exactOffset(ms)).toBe(text));

test('recent days are named by today, yesterday or their weekday', () => {
  const noon = new Date(2026, 4, 20, 12).getTime();
  const back = (days: number) => dayName(new Date(2026, 4, 20 - days, 23, 59).getTime(), noon);
  expect([0, 1, 2, 6, 7].map(back)).toEqual(['Today', 'Yesterday', 'Monday', 'Thursday', '2026-05-13']);
  expect(dayName(noon + 60_000, noon)).toBe('Today');
});

test('the time of another day includes the day', () => {
  const at = new Date(2026, 4, 20, 23, 40).getTime();
  const later = (minutes: number) => when(at, at + minutes * 60_000);
  expect([10, 50, 90, 3 * 1440, 9 * 1440].map(later)).toEqual([
    '10 min',
    '50 min',
    'Yesterday 23:40',
    'Wednesday 23:40',
    '2026-05-20 23:40',
  ]);
});

test('the time of another day to the second includes the day', () => {
  const at = new Date(2026, 4, 20, 16, 23, 49).getTime();
  const later = (days: number) => clockOn(at, at + days * 86_400_000);
  expect([0, 1, 3, 9].map(later)).toEqual([
    '16:23:49',
    'Yesterday 16:23:49',
    'Wednesday 16:23:49',
    '2026-05-20 16:23:49',
  ]);
});

test('an age is short', () => {
  const at = new Date(2026, 4, 20, 17, 20).getTime();
  expect([10_000, 60_000, 13 * 60_000, 3 * 3_600_000].map((later) => age(at, at + later))).toEqual([
    'now',
    '1 min',
    '13 min',
    '17:20',
  ]);
});
