import { expect, test } from 'vitest';
import { excerpt, numbered } from './excerpt';

const source = Array.from({ length: 20 }, (_, n) => `line ${n + 1}`).join('\n');

test('the lines around a place', () => {
  expect(excerpt(source, 10, 1)).toEqual([
    { number: 9, text: 'line 9', marked: false },
    { number: 10, text: 'line 10', marked: true },
    { number: 11, text: 'line 11', marked: false },
  ]);
  expect(excerpt(source, 1, 2).map((line) => line.number)).toEqual([1, 2, 3]);
  expect(excerpt(source, 99, 2)).toEqual([]);
});

test('the whole source is cut where it would be too much', () => {
  expect(numbered('x\n'.repeat(5000), null)).toHaveLength(2000);
  expect(numbered('x'.repeat(5000), 1)[0]).toMatchObject({ marked: true, text: 'x'.repeat(240) });
});
