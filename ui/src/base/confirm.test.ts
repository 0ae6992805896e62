// Which button the keys of a dialog press, and which they leave alone.
import { expect, test, vi } from 'vitest';
import { confirmByKey } from './confirm';

const BUTTON = '<button data-primary="enter">Go</button>';

/** Presses a key at an element of a dialog; answers how often its buttons were pressed, by their names. */
function pressed(html: string, at: string, init: KeyboardEventInit = {}): Record<string, number> {
  document.body.innerHTML = `<div id="sheet">${html}</div>`;
  const sheet = document.getElementById('sheet') as HTMLElement;
  const count: Record<string, number> = {};
  sheet.addEventListener('click', ({ target }) => {
    const name = (target as HTMLElement).textContent ?? '';
    count[name] = (count[name] ?? 0) + 1;
  });
  sheet.addEventListener('keydown', (event) => confirmByKey(event, sheet));
  const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...init });
  sheet.querySelector(at)?.dispatchEvent(event);
  return count;
}

test('Enter in a field of one line presses it, in a text of several lines only with Ctrl', () => {
  const html = `<input /><textarea></textarea>${BUTTON}`;
  expect(pressed(html, 'input')).toEqual({ Go: 1 });
  expect(pressed(html, 'textarea')).toEqual({});
  expect(pressed(html, 'textarea', { ctrlKey: true })).toEqual({ Go: 1 });
});

test('Ctrl+Enter presses it from anywhere, and Enter on another button presses that one', () => {
  const html = `<button id="other">Other</button>${BUTTON}`;
  expect(pressed(html, '#other', { ctrlKey: true })).toEqual({ Go: 1 });
  expect(pressed(html, '#other')).toEqual({});
});

test('what takes something away needs Ctrl', () => {
  const html = '<input /><button data-primary="ctrl">Delete</button>';
  expect(pressed(html, 'input')).toEqual({});
  expect(pressed(html, 'input', { ctrlKey: true })).toEqual({ Delete: 1 });
});

test('a disabled button, a key that is held down and one that was taken press nothing', () => {
  expect(pressed(`<input />${BUTTON.replace('data', 'disabled data')}`, 'input')).toEqual({});
  expect(pressed(`<input />${BUTTON}`, 'input', { repeat: true })).toEqual({});
  const taken = vi.fn((event: Event) => event.preventDefault());
  document.addEventListener('keydown', taken, { capture: true, once: true });
  expect(pressed(`<input />${BUTTON}`, 'input')).toEqual({});
  expect(taken).toHaveBeenCalled();
});

test('the form that has the focus comes first; of several none is meant from outside of them', () => {
  const form = (name: string) => `<div data-form id="${name}"><input />${BUTTON.replace('Go', name)}</div>`;
  const html = `${form('one')}${form('two')}<input id="outside" />`;
  expect(pressed(html, '#two input')).toEqual({ two: 1 });
  expect(pressed(html, '#outside', { ctrlKey: true })).toEqual({});
});

test('a key in a question that cannot be approved approves no other one', () => {
  const question = `<div data-form id="one"><input />${BUTTON}</div><div data-form id="two"><input /></div>`;
  expect(pressed(question, '#two input', { ctrlKey: true })).toEqual({});
  expect(pressed(`${question}<input id="outside" />`, '#outside')).toEqual({});
});
