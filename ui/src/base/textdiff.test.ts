import { expect, test, vi } from 'vitest';
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

test('a long text is read once', () => {
  const text = 'x'.repeat(1 << 16);
  const read = vi.spyOn(String.prototype, 'charCodeAt');
  expect(textDiff(text + 'a', text + 'b').added).toBe('b');
  const reads = read.mock.calls.length;
  read.mockRestore();
  expect(reads).toBeLessThanOrEqual(2 * text.length + 4);
});

test('parts say that something is left out', () => {
  expect(firstPart('abcdef', 3)).toBe('abc…');
  expect(lastPart('abcdef', 3)).toBe('…def');
  expect(firstPart('abc', 3)).toBe('abc');
});
