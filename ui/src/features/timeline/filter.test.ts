import { expect, test } from 'vitest';
import { completed } from '../../base/completion';
import { completionsAt } from './filter';

const offered = (text: string) => completionsAt(text, text.length).options.map((option) => option.text);

test('an empty filter offers every term, a begun term only matching ones', () => {
  expect(offered('').length).toBeGreaterThan(8);
  expect(offered('sta')).toEqual(['status:']);
  expect(offered('status:f')).toEqual(['failed']);
  expect(offered('name:x dur>')).toContain('1s');
  expect(offered('-ki')).toEqual(['kind:']);
});

test('inside quotes nothing is offered', () => {
  expect(offered('"sta')).toEqual([]);
  expect(offered('"a b" sta')).toEqual(['status:']);
});

test('a completion replaces the word at the caret', () => {
  const text = 'sta dur>1s';
  const found = completionsAt(text, 2);
  expect(completed(text, found, { text: 'status:', hint: '' })).toEqual({ text: 'status: dur>1s', caret: 7 });
  const value = completionsAt('-status:fa', 10);
  expect(completed('-status:fa', value, { text: 'failed', hint: '' })).toEqual({ text: '-status:failed ', caret: 15 });
});
