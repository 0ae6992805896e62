import { expect, test } from 'vitest';
import { keepTop, topWhenLeft } from './scroll-places';

test('each list begins where it was left, and old ones are forgotten', () => {
  expect(topWhenLeft('a')).toBe(0);
  keepTop('a', 120);
  keepTop('b', 7);
  expect([topWhenLeft('a'), topWhenLeft('b')]).toEqual([120, 7]);
  keepTop('a', 0);
  expect(topWhenLeft('a')).toBe(0);
  for (let n = 0; n < 300; n++) keepTop(`list ${n}`, 1);
  expect([topWhenLeft('b'), topWhenLeft('list 99'), topWhenLeft('list 100')]).toEqual([0, 0, 1]);
});
