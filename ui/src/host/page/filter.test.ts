// The filter of a page reads the same language as the window's; what is wrong is told with its place.
import { expect, test } from 'vitest';
import { fitsPath, termsOf } from './filter';
import { isCalled } from './fits';

test('terms are read', () => {
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
  ['a sttus:failed', 3, '"sttus" is no field'],
  ['status:broken', 8, '"broken" is no status'],
  ['-kind:agent', 7, '"agent" is no kind'],
  ['dur>soon', 5, '"soon" is no time'],
  ['items>-1', 7, '"-1" is no number'],
  ['name>x', 5, 'has no more and no less'],
  ['a "b c', 3, 'this quote does not end'],
  ['-', 2, 'nothing after "-"'],
])('%s is wrong at letter %i', (text, letter, what) => {
  expect(() => termsOf(text)).toThrowError(
    expect.objectContaining({ message: expect.stringMatching(`letter ${letter}: .*${what}`) }) as Error,
  );
});

test('stars stand for parts of paths', () => {
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

test('a text is looked for in what a row is called, and in its path only if it is written like one', () => {
  const path = 'root/tap:plan/foreach:each[2]/step:item';
  expect(['item', 'te', 'each[2]/', 'tap:', 'each['].filter((text) => !isCalled(path, text))).toEqual([]);
  expect(['st', 'tap', 'plan', 'each'].filter((text) => isCalled(path, text))).toEqual([]);
  expect(isCalled('root/parallel/web', 'web')).toBe(true);
});
