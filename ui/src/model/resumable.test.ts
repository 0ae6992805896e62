import { expect, test } from 'vitest';
import { resumeLook, resumeWords } from './resumable';

test.each([
  [{ resumable: 'yes' }, 'good', 'Safe to resume: what ended is reused, and nothing is asked or done a second time'],
  [{ resumable: 'asks_again', resumableWhy: '1 model call' }, 'warn', 'Will ask again: 1 model call'],
  [{ resumable: 'no', resumableWhy: 'the block is gone' }, 'bad', 'Cannot resume: the block is gone'],
  [{ resumable: 'no' }, 'bad', 'Cannot resume'],
] as const)('%j', (row, tone, words) => {
  expect(resumeLook(row)?.tone).toBe(tone);
  expect(resumeWords(row)).toBe(words);
});

test('what is not known is not said', () => {
  expect([resumeLook({}), resumeWords({})]).toEqual([null, '']);
});
