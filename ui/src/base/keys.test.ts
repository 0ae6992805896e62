import { expect, test } from 'vitest';
import { chordOf, isWriting, keyName, ownsArrows } from './keys';

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  chordOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

test.each([
  [press('n'), 'n'],
  [press('N'), 'n'],
  [press('N', { shiftKey: true }), 'N'],
  [press('?', { shiftKey: true }), '?'],
  [press('K', { ctrlKey: true, shiftKey: true }), 'Ctrl+k'],
  [press('k', { metaKey: true }), 'Ctrl+k'],
  [press('F6', { shiftKey: true }), 'Shift+F6'],
  [press('ArrowLeft', { altKey: true }), 'Alt+ArrowLeft'],
  [press('[', { ctrlKey: true, altKey: true, getModifierState: (name) => name === 'AltGraph' }), '['],
])('%s', (chord, wanted) => expect(chord).toBe(wanted));

test('keys are named as they are printed', () => {
  expect(['Ctrl+k', 'Alt+ArrowLeft', 'n', 'PageDown', '+'].map(keyName)).toEqual(['Ctrl+K', 'Alt+←', 'n', 'PgDn', '+']);
});

test.each([
  ['<input>', true],
  ['<input type="search">', true],
  ['<textarea></textarea>', true],
  ['<select></select>', true],
  ['<input type="range">', false],
  ['<input type="checkbox">', false],
  ['<button></button>', false],
])('writing in %s: %s', (html, is) => {
  document.body.innerHTML = html;
  expect(isWriting(document.body.firstElementChild)).toBe(is);
});

test('a slider keeps its arrows, a button does not', () => {
  document.body.innerHTML = '<div role="tree"><span></span></div><button></button>';
  expect(ownsArrows(document.querySelector('span'))).toBe(true);
  expect(ownsArrows(document.querySelector('button'))).toBe(false);
});
