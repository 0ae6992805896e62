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

test('a request that somebody opened gets the focus once it is on screen', () => {
  const window = new WindowModel();
  button('Open').focus();
  window.arrive(request('a'), home);
  expect(arrived(window)).toBe(true);
  expect(arrived(window)).toBe(false);
});

test('whoever goes elsewhere while it opens stays there', () => {
  const window = new WindowModel();
  button('Open').focus();
  window.arrive(request('a'), home);
  button('Another').focus();
  expect(arrived(window)).toBe(false);
});

test('a dialog that opened it and gives the focus back holds nobody', () => {
  const window = new WindowModel();
  const [before, inside] = [button('Before'), button('Inside')];
  inside.focus();
  window.arrive(request('a'), home);
  inside.remove();
  before.focus();
  expect(arrived(window)).toBe(true);
});

test('a tab that is asked for is forgotten with the block it was meant for', () => {
  const window = new WindowModel();
  window.inspectorTab = 'output';
  window.arrive({ ...request('a'), block: 'other' }, request('a'));
  expect(window.inspectorTab).toBeNull();
});
