import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HOME, placeOf, type Place } from '../place';
import { WindowModel } from './window.svelte';

const home = placeOf(HOME);
const request = (id: string): Place => ({ ...home, request: id });

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  document.body.replaceChildren();
  vi.useRealTimers();
});

function button(name: string) {
  const one = document.createElement('button');
  one.textContent = name;
  document.body.append(one);
  return one;
}

function arrived(window: WindowModel) {
  const focus = vi.fn();
  window.lead('timeline', focus);
  vi.runAllTimers();
  return focus.mock.calls.length > 0;
}

test('a request that the user opened gets the focus when it is on screen', () => {
  const window = new WindowModel();
  button('Open').focus();
  window.arrive(request('a'), home);
  expect(arrived(window)).toBe(true);
  expect(arrived(window)).toBe(false);
});

test('if the user moves the focus while a request opens, it stays there', () => {
  const window = new WindowModel();
  button('Open').focus();
  window.arrive(request('a'), home);
  button('Another').focus();
  expect(arrived(window)).toBe(false);
});

test('a dialog that opened the request and returns the focus does not keep it', () => {
  const window = new WindowModel();
  const [before, inside] = [button('Before'), button('Inside')];
  inside.focus();
  window.arrive(request('a'), home);
  inside.remove();
  before.focus();
  expect(arrived(window)).toBe(true);
});

test('a requested tab is forgotten when another block is selected', () => {
  const window = new WindowModel();
  window.inspectorTab = 'output';
  window.arrive({ ...request('a'), block: 'other' }, request('a'));
  expect(window.inspectorTab).toBeNull();
});
