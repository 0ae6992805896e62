// The filter of an exported page has the same language as the window's; errors name their column.
import { expect, test } from 'vitest';
import { fitsPath, termsOf } from './filter';
import { isCalled } from './fits';

test('parses terms', () => {
  const read = termsOf('kind:generator  dur>1.5s -name:Search path:root/x/* "Two words" writes:session.plan writes>0');
  expect(read.map(({ isNegated, test }) => [isNegated, test.of, 'text' in test ? test.text : test.wanted])).toEqual([
    [false, 'kind', 'generator'],
    [false, 'dur', 1500],
    [true, 'name', 'search'],
    [false, 'path', 'root/x/*'],
    [false, 'text', 'two words'],
    [false, 'writesTo', 'session.plan'],
    [false, 'writes', 0],
  ]);
  expect(termsOf('-"-a:b" name:"a b" -x').map(({ isNegated, test }) => [isNegated, test])).toEqual([
    [true, { of: 'text', text: '-a:b' }],
    [false, { of: 'name', text: 'a b' }],
    [true, { of: 'text', text: 'x' }],
  ]);
  expect(termsOf('  ')).toEqual([]);
});

test.each([
  ['a sttus:failed', 3, '"sttus" is not a field'],
  ['status:broken', 8, '"broken" is not a status'],
  ['-kind:agent', 7, '"agent" is not a kind'],
  ['dur>soon', 5, '"soon" is not a time'],
  ['items>-1', 7, '"-1" is not a number'],
  ['name>x', 5, '"name" cannot be compared with ">"'],
  ['a "b c', 3, 'unclosed quote'],
  ['-', 2, 'nothing after "-"'],
])('%s is invalid at column %i', (text, column, what) => {
  expect(() => termsOf(text)).toThrowError(
    expect.objectContaining({ message: expect.stringMatching(`column ${column}: .*${what}`) }) as Error,
  );
});

test('stars match parts of paths', () => {
  const fits = [
    ['root/step:a', 'root/*'],
    ['root/step:a/step:b', 'root/*/step:b'],
    ['root/step:a/step:b', '**:b'],
    ['root/x/y/z', '**/*'],
    ['root', '**'],
  ] as const;
  const others = [
    ['root/step:a/step:b', 'root/*'],
    ['root', 'root/**'],
    ['root/a/b', '*/b'],
  ] as const;
  expect(fits.filter(([path, pattern]) => !fitsPath(path, pattern))).toEqual([]);
  expect(others.filter(([path, pattern]) => fitsPath(path, pattern))).toEqual([]);
});

test('a text is searched in the name of a row, and in its path only if it looks like a path', () => {
  const path = 'root/tap:plan/foreach:each[2]/step:item';
  expect(['item', 'te', 'each[2]/', 'tap:', 'each['].filter((text) => !isCalled(path, text))).toEqual([]);
  expect(['st', 'tap', 'plan', 'each'].filter((text) => isCalled(path, text))).toEqual([]);
  expect(isCalled('root/parallel/web', 'web')).toBe(true);
});
