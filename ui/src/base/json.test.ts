import { expect, test, vi } from 'vitest';
import { describe as words, inOrder, keyText, kindOf, preview, visible } from './json';

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

test('a key that would not be seen is quoted', () => {
  expect(['a b', '', ' ', 'x\n', 'a\u202e'].map(keyText)).toEqual(['a b', '""', '" "', '"x\\n"', 'a\\u202e']);
});

test('characters that make a text read as another one are escapes', () => {
  expect(inOrder('a\u202eb\u200fc\u2066d\u0000e\u009bf\ud800g\u{e0041}')).toBe(
    'a\\u202eb\\u200fc\\u2066d\\u0000e\\u009bf\\ud800g\\udb40\\udc41',
  );
  const plain = 'two\n\tlines\r\n שלום 👩\u200d👧 soft\u00adhyphen';
  expect(inOrder(plain)).toBe(plain);
  expect(visible('k\u0000e\ny\u200b')).toBe('k\\u0000e\\u000ay\\u200b');
  // As JSON it is the same text.
  const odd = '\u202e\ud800\u{e0041}\u0007';
  expect(JSON.parse(`"${inOrder(odd)}"`)).toBe(odd);
});
