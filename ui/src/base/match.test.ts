import { expect, test } from 'vitest';
import { best, score } from './match';

test('letters must appear in order', () => {
  expect(score('cht', 'chat')).toBeGreaterThan(0);
  expect(score('tch', 'chat')).toBe(0);
  expect(score('', 'anything')).toBe(1);
});

test('a word start beats the middle of a word', () => {
  expect(best('ion', ['session', 'open ion'], (t) => t, 5)).toEqual(['open ion', 'session']);
});

test('no more than asked for', () => {
  expect(best('', ['a', 'b', 'c'], (t) => t, 2)).toEqual(['a', 'b']);
});
