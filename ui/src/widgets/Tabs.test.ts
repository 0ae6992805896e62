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
function show(width: number, open = 'input') {
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(100);
  vi.spyOn(HTMLElement.prototype, 'offsetLeft', 'get').mockImplementation(function (this: HTMLElement) {
    return Math.max(0, NAMES.indexOf(this.dataset.value ?? '')) * 100;
  });
  vi.spyOn(Element.prototype, 'scrollWidth', 'get').mockReturnValue(300);
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(width);
  const tabs = NAMES.map((id) => ({ id, label: id }));
  const panel = createRawSnippet(() => ({ render: () => '<p>panel</p>' }));
  render(Tabs, { props: { tabs, open, onopen: () => {}, label: 'Tabs', panel } });
}

test('tabs that do not fit are in a menu', async () => {
  show(200);
  expect((await screen.findByTestId('tabs-more')).getAttribute('aria-label')).toBe('More: tabs');
});

test('where all fit there is no menu', () => {
  show(300);
  expect(screen.queryByTestId('tabs-more')).toBeNull();
});

test('a tab that does not fit is neither shown nor clicked, unless it is the open one', async () => {
  show(50, 'input');
  await screen.findByTestId('tabs-more');
  const isHidden = (id: string) => screen.getByTestId(`tab-${id}`).classList.contains('opacity-0');
  expect(NAMES.map(isHidden)).toEqual([false, true, true]);
  expect(screen.getByTestId('tab-calls').classList.contains('pointer-events-none')).toBe(true);
});

test('tabs that fit without the menu need none', async () => {
  show(200);
  await screen.findByTestId('tabs-more');
  // The list lacks what the menu takes.
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockImplementation(function (this: Element) {
    return this.getAttribute('role') === 'tablist' ? 272 : 300;
  });
  screen.getByRole('tablist').dispatchEvent(new Event('scroll'));
  await vi.waitFor(() => expect(screen.queryByTestId('tabs-more')).toBeNull());
});
