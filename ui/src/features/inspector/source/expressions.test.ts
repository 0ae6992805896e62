import { expect, test } from 'vitest';
import { expressionsOf } from './expressions';

test('commas outside of brackets and quotes separate expressions', () => {
  expect(expressionsOf(' sum, line.sku ')).toEqual(['sum', 'line.sku']);
  expect(expressionsOf('f(a, b), [1, 2][0], { a: 1, b: 2 }')).toEqual(['f(a, b)', '[1, 2][0]', '{ a: 1, b: 2 }']);
  expect(expressionsOf(`"a, b", 'c\\', d', \`e, \${f(1, 2)}, g\``)).toEqual([
    '"a, b"',
    "'c\\', d'",
    '`e, ${f(1, 2)}, g`',
  ]);
  expect(expressionsOf('a < b, c > d')).toEqual(['a < b', 'c > d']);
});

test('a text that does not balance is one expression, which the other side explains', () => {
  for (const text of ['f(a, b', 'a), b', '"a, b', 'a,, b', ', a', '[a), b'])
    expect(expressionsOf(text)).toEqual([text]);
  expect(expressionsOf('  ')).toEqual([]);
});
