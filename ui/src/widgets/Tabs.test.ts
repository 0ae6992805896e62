// Tabs that do not fit: a button at the edge says so, and leads to them.
import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { createRawSnippet } from 'svelte';
import { afterEach, expect, test, vi } from 'vitest';
import Tabs from './Tabs.svelte';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

function show(width: number) {
  vi.spyOn(Element.prototype, 'scrollWidth', 'get').mockReturnValue(300);
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(width);
  const tabs = ['input', 'calls', 'source'].map((id) => ({ id, label: id }));
  const panel = createRawSnippet(() => ({ render: () => '<p>panel</p>' }));
  render(Tabs, { props: { tabs, open: 'input', onopen: () => {}, label: 'Tabs', panel } });
}

test('tabs beyond an edge are told of there, and come into view', async () => {
  show(200);
  expect(screen.queryByTestId('tabs-left')).toBeNull();
  await fireEvent.click(screen.getByTestId('tabs-right'));
  const list = screen.getByRole('tablist');
  expect(list.scrollLeft).toBeGreaterThanOrEqual(100);
  await fireEvent.scroll(list);
  expect(screen.queryByTestId('tabs-right')).toBeNull();
  expect(screen.getByTestId('tabs-left')).toBeTruthy();
});

test('where all fit there is no such button', () => {
  show(300);
  expect([screen.queryByTestId('tabs-left'), screen.queryByTestId('tabs-right')]).toEqual([null, null]);
});
