import { expect, test } from 'vitest';
import { chartedBy, daysIn, withDays, withoutDays } from './day-terms';

test('days take the place of those that a filter has', () => {
  const filter = 'status:failed since:24h "a since:b" until:1h';
  const next = withDays(filter, '2026-11-28', '2026-11-29');
  expect(next).toBe('status:failed "a since:b" since:2026-11-28 until:2026-11-29');
  expect(daysIn(next)).toEqual({ from: '2026-11-28', until: '2026-11-29' });
  expect(withoutDays(next)).toBe('status:failed "a since:b"');
  expect(daysIn('since:24h')).toBeNull();
  expect([chartedBy(next), chartedBy('since:24h')]).toEqual(['status:failed "a since:b"', 'since:24h']);
});

test('a range of time that is not one of whole days is no range of days', () => {
  for (const filter of [
    'since:24h until:1h',
    'since:2026-11-28T00:00 until:2026-11-29T12:00',
    'since:7d until:2026-11-28',
    'since:2026-11-28',
    'since:2026-11-28 -until:2026-11-29',
    'since:2026-11-28 until:2026-11-29 since:1h',
    'since:2026-11-29 until:2026-11-29',
  ]) {
    expect(daysIn(filter), `${filter}`).toBeNull();
    expect(chartedBy(filter)).toBe(filter);
  }
});
