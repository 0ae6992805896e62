import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import Suggest from './Suggest.svelte';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** Opens the suggestions of a field whose upper edge is this far from the top of a window of 768 pixels. */
async function openAt(top: number) {
  vi.spyOn(HTMLInputElement.prototype, 'getBoundingClientRect').mockReturnValue(
    new DOMRect(20, top, 200, 30) as DOMRect,
  );
  render(Suggest, { id: 'f', value: '', suggestions: ['ada', 'grace'], testid: 'f', onchange: () => {} });
  await fireEvent.click(screen.getByTestId('f'));
  return screen.getByRole('listbox');
}

test('suggestions of the last field of the window open above it, inside the window', async () => {
  const list = await openAt(innerHeight - 34);
  expect(list.dataset.side).toBe('above');
  expect(list.style.bottom).toBe(`calc(100vh - ${innerHeight - 36}px)`);
  expect(list.style.top).toBe('');
});

test('suggestions open below a field with space below, as wide as the field', async () => {
  const list = await openAt(100);
  expect(list.dataset.side).toBe('below');
  expect([list.style.top, list.style.left, list.style.width]).toEqual(['132px', '20px', '200px']);
});

test('scrolling the form closes the open list', async () => {
  const list = await openAt(100);
  await fireEvent.scroll(document);
  expect(list.hidden).toBe(true);
});

test('a field with a complete earlier value offers the other values', async () => {
  render(Suggest, { id: 'f', value: 'ada', suggestions: ['ada', 'grace'], testid: 'f', onchange: () => {} });
  await fireEvent.click(screen.getByTestId('f'));
  expect(screen.getAllByRole('option').map((one) => one.textContent?.trim())).toEqual(['grace']);
});

test('Enter accepts the typed text and closes the list, so that it does not cover the result', async () => {
  const list = await openAt(100);
  await fireEvent.keyDown(screen.getByTestId('f'), { key: 'Enter' });
  expect(list.hidden).toBe(true);
});
