import { expect, test } from 'vitest';
import { chordOf, isWriting, keyName, opensMenu, ownsArrows } from './keys';

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  chordOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

test.each([
  [press('n'), 'n'],
  [press('N'), 'n'],
  [press('N', { shiftKey: true }), 'N'],
  [press('?', { shiftKey: true }), '?'],
  [press('K', { ctrlKey: true, shiftKey: true }), 'Ctrl+Shift+k'],
  [press('k', { altKey: true, shiftKey: true }), 'Alt+Shift+k'],
  [press('K', { ctrlKey: true }), 'Ctrl+k'],
  [press('+', { ctrlKey: true, shiftKey: true }), 'Ctrl++'],
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

test('Shift+F10 opens the context menu but where it steps back, and the menu key opens it everywhere', () => {
  document.body.innerHTML = '<div data-steps><span id="line"></span></div><button id="other"></button>';
  const opens = (id: string, key: string, more: KeyboardEventInit = {}) => {
    const event = new KeyboardEvent('keydown', { key, bubbles: true, ...more });
    document.getElementById(id)?.dispatchEvent(event);
    return opensMenu(event);
  };
  expect(opens('other', 'F10', { shiftKey: true })).toBe(true);
  expect(opens('line', 'F10', { shiftKey: true })).toBe(false);
  expect(opens('other', 'F10', { shiftKey: true, ctrlKey: true })).toBe(false);
  expect([opens('line', 'ContextMenu'), opens('other', 'ContextMenu'), opens('other', 'F10')]).toEqual([
    true,
    true,
    false,
  ]);
});
