// The first focus in a dialog, also if its content is loaded later.
import { waitFor } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import { leadToField } from './lead';

let stop = () => {};

function open(html: string): HTMLElement {
  document.body.innerHTML = `<button id="before">b</button><div id="sheet">${html}</div>`;
  const sheet = document.getElementById('sheet') as HTMLElement;
  stop = leadToField(sheet);
  return sheet;
}
const at = () => document.activeElement?.id;

afterEach(() => stop());

test('the first editable field has the focus', () => {
  open('<button>x</button><input type="checkbox" /><input disabled /><input id="first" /><textarea></textarea>');
  expect(at()).toBe('first');
});

test('a field that appears later gets the focus, unless the user has acted meanwhile', async () => {
  open('').innerHTML = '<input id="late" />';
  await waitFor(() => expect(at()).toBe('late'));
  const sheet = open('');
  document.getElementById('before')?.focus();
  document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Tab' }));
  sheet.innerHTML = '<input id="late" />';
  await new Promise((done) => setTimeout(done));
  expect(at()).toBe('before');
});

test('without a field, the main button gets the focus, but never a destructive one', () => {
  open('<p><button>Cancel</button><button id="go" data-primary="enter">Go</button></p>');
  expect(at()).toBe('go');
  open('<p><button id="cancel">Cancel</button><button data-primary="ctrl">Delete</button></p>');
  expect(at()).toBe('cancel');
});
