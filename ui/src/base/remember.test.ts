import { beforeEach, expect, test } from 'vitest';
import { addRecent, recall, recent, remember } from './remember';

beforeEach(() => localStorage.clear());

test('what was remembered is recalled', () => {
  remember('left', 240);
  expect(recall('left', 0)).toBe(240);
  expect(recall('right', 7)).toBe(7);
});

test('damaged storage is forgotten, not fatal', () => {
  localStorage.setItem('flowglass.left', '{');
  localStorage.setItem('flowglass.recent.user', '"not a list"');
  expect(recall('left', 1)).toBe(1);
  expect(recent('user')).toEqual([]);
});

test('recent values are newest first, each once, and few', () => {
  for (const name of ['a', 'b', 'a', '', 'c']) addRecent('user', name, 2);
  expect(recent('user')).toEqual(['c', 'a']);
});
