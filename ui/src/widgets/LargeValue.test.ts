import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import type { LargePage, LargeSource } from '../base/large';
import LargeValue from './LargeValue.svelte';

afterEach(cleanup);

/** A list of so many numbers, of which one is a large text. */
function listOf(count: number) {
  const page = vi.fn(async (path: string, offset: number, limit: number): Promise<LargePage> => {
    if (path === '/1') {
      const text = '💥'.repeat(50).slice(offset * 2, (offset + limit) * 2);
      return { kind: 'text', bytes: 200, count: 50, offset, entries: [], text };
    }
    const size = Math.max(0, Math.min(limit, count - offset));
    const entries = Array.from({ length: size }, (_, n) => ({
      value:
        offset + n === 1
          ? { large: { kind: 'text' as const, bytes: 200, count: 50, head: '💥' } }
          : { inline: offset + n },
    }));
    return { kind: 'list', bytes: count * 7, count, offset, entries };
  });
  const find = vi.fn(async (text: string) => ({ hits: [{ path: `/${text}`, around: text }], more: true }));
  const whole = vi.fn(() => Promise.reject({ kind: 'refused', message: 'at most 4 MB at once' }));
  const save = vi.fn(async (path: string) => `/home/ada/value${path}.json`);
  const source: LargeSource = { page, find, whole, save };
  const large = { kind: 'list' as const, bytes: count * 7, count, head: '[0, …' };
  render(LargeValue, { props: { large, source, label: 'output' } });
  return { page, find, save };
}

test('nothing is read before it is opened, and then a page at a time', async () => {
  const { page } = listOf(250);
  expect(screen.getByTestId('large-value').textContent).toContain('list, 250 entries, 1.7 KB');
  expect(page).not.toHaveBeenCalled();
  await fireEvent.click(screen.getByTestId('large-open'));
  await waitFor(() => expect(screen.getAllByTestId('large-entry')).toHaveLength(100));
  expect(screen.getByTestId('large-more').textContent).toContain('100 more of 150');
  await fireEvent.click(screen.getByTestId('large-more'));
  await waitFor(() => expect(screen.getByTestId('large-more').textContent).toContain('50 more of 50'));
  await fireEvent.click(screen.getByTestId('large-more'));
  await waitFor(() => expect(screen.getAllByTestId('large-entry')).toHaveLength(250));
  expect(screen.queryByTestId('large-more')).toBeNull();
  expect(page.mock.calls.map(([, offset]) => offset)).toEqual([0, 100, 200]);
});

test('a large value inside of one is opened by its path', async () => {
  const { page } = listOf(3);
  await fireEvent.click(screen.getByTestId('large-open'));
  await waitFor(() => expect(screen.getAllByTestId('large-value')).toHaveLength(2));
  await fireEvent.click(screen.getByTestId('large-open'));
  await waitFor(() => expect(page).toHaveBeenLastCalledWith('/1', 0, 20_000));
  await waitFor(() => expect(screen.getAllByTestId('large-value')[1]?.textContent).toContain('💥💥'));
});

test('a text is found in it, and what fails is said in its place', async () => {
  const { find } = listOf(3);
  const input = screen.getByTestId('large-find') as HTMLInputElement;
  await fireEvent.input(input, { target: { value: '.*' } });
  await fireEvent.keyDown(input, { key: 'Enter' });
  await waitFor(() => expect(screen.getByTestId('large-hits').textContent).toContain('there are more'));
  expect(find).toHaveBeenCalledWith('.*');
  await fireEvent.click(screen.getByRole('button', { name: /^Copy output/ }));
  await waitFor(() => expect(screen.getByTestId('large-wrong').textContent).toBe('at most 4 MB at once'));
});

test('all of it is saved to a file that a person chose, and the file is named', async () => {
  const { save } = listOf(3);
  await fireEvent.click(screen.getByTestId('large-save'));
  await waitFor(() => expect(screen.getByTestId('large-saved').textContent).toBe('Saved to /home/ada/value.json'));
  expect(save).toHaveBeenCalledWith('', 'list');
});
