import { expect, test } from 'vitest';
import { firstAt, topsOf } from './uneven';

const tops = topsOf(4, (n) => [24, 44, 44, 28][n] ?? 0);

test('rows begin where the ones before them end', () => expect([...tops]).toEqual([0, 24, 68, 112, 140]));

test('a row is found by a place in it, at its edges and beyond the list', () => {
  const found = [-5, 0, 23, 24, 67, 68, 111, 112, 139, 140, 900].map((place) => firstAt(tops, place));
  expect(found).toEqual([0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
  expect(
    firstAt(
      topsOf(0, () => 1),
      0,
    ),
  ).toBe(0);
});
