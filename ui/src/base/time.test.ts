import { expect, test } from 'vitest';
import { ago, duration, exactOffset, offset } from './time';

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

test('an offset is signed and never negative', () => {
  expect(offset(1200)).toBe('+1.20 s');
  expect(offset(-5)).toBe('+0 ms');
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
  [-3, '+0 ms'],
])('%s ms after the start reads %s', (ms, text) => expect(exactOffset(ms)).toBe(text));
