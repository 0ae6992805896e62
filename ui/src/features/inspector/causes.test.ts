import { expect, test } from 'vitest';
import { causes } from './causes';

test('a chain of causes is told outermost first', () => {
  const inner = { name: 'RangeError', message: 'too far' };
  const details = { cause: { name: 'FlowError', message: 'middle', code: 'mid', cause: inner } };
  expect(causes(details)).toEqual([
    { depth: 0, word: 'caused by', text: 'FlowError (mid): middle' },
    { depth: 1, word: 'caused by', text: 'RangeError: too far' },
  ]);
});

test('gathered errors come before the cause, and details without either have none', () => {
  const details = {
    errors: [
      { name: 'Error', message: 'a' },
      { name: 'Error', message: 'b' },
    ],
  };
  expect(causes(details).map((one) => one.text)).toEqual(['Error: a', 'Error: b']);
  for (const none of [null, undefined, 1, 'text', [], { cause: 1 }, { errors: 'x' }]) expect(causes(none)).toEqual([]);
});
