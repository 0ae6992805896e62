import { expect, test } from 'vitest';
import { child, formatPath, parsePath, withValue } from './path';

test.each([
  ['plan[2].title', ['plan', 2, 'title']],
  ['/plan/2/title', ['plan', 2, 'title']],
  ['', []],
  ['a.b', ['a', 'b']],
  ['tags.0', ['tags', 0]],
  ['["a.b"].c', ['a.b', 'c']],
])('%s is read', (text, steps) => expect(parsePath(text)).toEqual(steps));

test('paths are written the way they are read', () => {
  for (const path of ['plan[2].title', '["a.b"].c', 'x', '[0][1]']) expect(formatPath(parsePath(path))).toBe(path);
  expect(child('plan', 0)).toBe('plan[0]');
  expect(child('plan[0]', 'title')).toBe('plan[0].title');
  expect(child('', 'title')).toBe('title');
  expect(child('a', 'x.y')).toBe('a["x.y"]');
});

test('a name is quoted exactly where the engine quotes it', () => {
  expect(child('findings', 'how trees cool')).toBe('findings["how trees cool"]');
  expect(child('', 'to do')).toBe('["to do"]');
  expect(child('a', '1st')).toBe('a["1st"]');
  expect(child('a', 'über-$1_')).toBe('a.über-$1_');
  for (const path of ['findings["how trees cool"].tags[0]', '["a \\"b\\"]"]'])
    expect(formatPath(parsePath(path))).toBe(path);
});

test('a value is set in a copy', () => {
  const before = { list: [{ a: 1 }], keep: true };
  expect(withValue(before, ['list', 0, 'a'], 2)).toEqual({ list: [{ a: 2 }], keep: true });
  expect(before.list[0]).toEqual({ a: 1 });
});

test('undefined takes the place away', () => {
  expect(withValue({ a: 1, b: 2 }, ['a'], undefined)).toEqual({ b: 2 });
  expect(withValue([1, 2, 3], [1], undefined)).toEqual([1, 3]);
  expect(withValue({}, ['a', 'b'], 1)).toEqual({ a: { b: 1 } });
});
