import { expect, test } from 'vitest';
import { textIn } from './filter';

test('what a filter looks for is its text, without fields and what it leaves out', () => {
  expect(textIn('desk lamp')).toBe('desk lamp');
  expect(textIn('"desk lamp" status:failed -seen dur>1s')).toBe('desk lamp');
  expect(textIn('"a:b" since:24h')).toBe('a:b');
  expect([textIn('tag:"x y"'), textIn('-"desk lamp"'), textIn('')]).toEqual(['', '', '']);
});
