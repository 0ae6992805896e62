// Tabs that do not fit are in a menu at the end of their line.
import { cleanup, render, screen } from '@testing-library/svelte';
import { createRawSnippet } from 'svelte';
import { afterEach, expect, test, vi } from 'vitest';
import Tabs from './Tabs.svelte';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const NAMES = ['input', 'calls', 'source'];

/** Each tab is 100 px wide. */
function show(width: number) {
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(100);
  vi.spyOn(HTMLElement.prototype, 'offsetLeft', 'get').mockImplementation(function (this: HTMLElement) {
    return Math.max(0, NAMES.indexOf(this.dataset.value ?? '')) * 100;
  });
  vi.spyOn(Element.prototype, 'scrollWidth', 'get').mockReturnValue(300);
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(width);
  const tabs = NAMES.map((id) => ({ id, label: id }));
  const panel = createRawSnippet(() => ({ render: () => '<p>panel</p>' }));
  render(Tabs, { props: { tabs, open: 'input', onopen: () => {}, label: 'Tabs', panel } });
}

test('tabs that do not fit are in a menu', async () => {
  show(200);
  expect((await screen.findByTestId('tabs-more')).getAttribute('aria-label')).toBe('More: tabs');
});

test('where all fit there is no menu', () => {
  show(300);
  expect(screen.queryByTestId('tabs-more')).toBeNull();
});
