import { expect, test } from 'vitest';
import { apart } from './apart';

const at = (hour: number, minute = 0, second = 0, ms = 0, day = 3) =>
  new Date(2026, 4, day, hour, minute, second, ms).getTime();

test('a row that reads like no other needs no words', () => {
  const words = apart([
    { id: 'a', looks: 'refund.ask Lamp', at: at(9) },
    { id: 'b', looks: 'refund.ask Chair', at: at(9) },
  ]);
  expect(words.size).toBe(0);
});

test('rows that read alike are told apart by the second at which they began', () => {
  const words = apart([
    { id: 'a', looks: 'Lamp', at: at(9, 5, 7) },
    { id: 'b', looks: 'Lamp', at: at(9, 5, 8) },
    { id: 'c', looks: 'Chair', at: at(9, 5, 8) },
  ]);
  expect([...words]).toEqual([
    ['a', '09:05:07'],
    ['b', '09:05:08'],
  ]);
});

test('rows of one second are told apart by the millisecond', () => {
  const words = apart([
    { id: 'a', looks: 'Lamp', at: at(9, 5, 7, 12) },
    { id: 'b', looks: 'Lamp', at: at(9, 5, 7, 340) },
  ]);
  expect([...words.values()]).toEqual(['09:05:07.012', '09:05:07.340']);
});

test('rows of several days name their day', () => {
  const words = apart([
    { id: 'a', looks: 'Lamp', at: at(9) },
    { id: 'b', looks: 'Lamp', at: at(9, 0, 0, 0, 4) },
  ]);
  expect([...words.values()]).toEqual(['2026-05-03 09:00:00', '2026-05-04 09:00:00']);
});
