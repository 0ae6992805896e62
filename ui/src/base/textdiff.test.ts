import { expect, test } from 'vitest';
import { firstPart, lastPart, textDiff } from './textdiff';

test('shared ends are found, and only once', () => {
  expect(textDiff('the red fox', 'the blue fox')).toEqual({
    before: 'the ',
    removed: 'red',
    added: 'blue',
    after: ' fox',
  });
  expect(textDiff('aa', 'aaa')).toEqual({ before: 'aa', removed: '', added: 'a', after: '' });
  expect(textDiff('', 'x')).toEqual({ before: '', removed: '', added: 'x', after: '' });
});

test('a megabyte takes no time worth noticing', () => {
  const text = 'x'.repeat(1 << 20);
  const started = performance.now();
  expect(textDiff(text + 'a', text + 'b').added).toBe('b');
  expect(performance.now() - started).toBeLessThan(200);
});

test('parts say that something is left out', () => {
  expect(firstPart('abcdef', 3)).toBe('abc…');
  expect(lastPart('abcdef', 3)).toBe('…def');
  expect(firstPart('abc', 3)).toBe('abc');
});
