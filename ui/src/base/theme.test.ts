import { afterEach, expect, test } from 'vitest';
import { remember } from './remember';
import { applyTheme, chooseTheme, chosenTheme } from './theme';

const shown = () => document.documentElement.dataset.theme;

afterEach(() => {
  localStorage.clear();
  applyTheme('system');
});

test('the theme is that of the system until one is chosen, and the choice is kept', () => {
  expect([chosenTheme(), shown()]).toEqual(['system', undefined]);
  chooseTheme('dark');
  expect([chosenTheme(), shown()]).toEqual(['dark', 'dark']);
  chooseTheme('system');
  expect([chosenTheme(), shown()]).toEqual(['system', undefined]);
});

test('what was kept and is no theme is none', () => {
  remember('theme', 'sepia');
  expect(chosenTheme()).toBe('system');
});
