import { expect, test, vi } from 'vitest';
import { describe as words, kindOf, preview } from './json';

test.each([
  [undefined, 'absent'],
  [null, 'null'],
  [[], 'array'],
  [{}, 'object'],
  ['', 'string'],
  [0, 'number'],
  [true, 'boolean'],
])('%s is %s', (value, kind) => expect(kindOf(value)).toBe(kind));

test('a preview fits on one line and says where it was cut', () => {
  expect(preview({ a: 1, b: ['x', null] })).toBe('{a: 1, b: ["x", null]}');
  expect(preview('line\nbreak')).toBe('"line\\nbreak"');
  expect(preview({ 'a\u202eb': 'c\u2028\ufeffd' })).toBe('{a\\u202eb: "c\\u2028\\ufeffd"}');
  expect(preview('x'.repeat(100), 10)).toBe('"xxxxxxxx…');
  expect(preview({ a: 'x'.repeat(100) }, 12)).toHaveLength(12);
});

test('the preview of a huge value costs nothing', () => {
  let reads = 0;
  const get = (list: object, key: string | symbol) => (reads++, Reflect.get(list, key));
  const list = new Proxy(
    Array.from({ length: 200_000 }, (_, n) => ({ n })),
    { get },
  );
  const written = vi.spyOn(JSON, 'stringify');
  expect(preview({ text: 'x'.repeat(2_000_000), list })).toHaveLength(80);
  expect(preview({ list })).toHaveLength(80);
  expect(reads).toBeLessThan(40);
  expect(Math.max(...written.mock.calls.map(([text]) => String(text).length))).toBeLessThan(100);
  written.mockRestore();
});

test('sizes are said in words', () => {
  expect(words([1])).toBe('list, 1 entry');
  expect(words('x'.repeat(1048576))).toBe('text, 1,048,576 characters');
  expect(words({})).toBe('object, 0 keys');
});
