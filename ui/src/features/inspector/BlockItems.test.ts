import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import type { Item } from '../../host/host';
import BlockItems from './BlockItems.svelte';
import BlockLogs from './BlockLogs.svelte';

afterEach(cleanup);

const item = (n: number) =>
  ({
    id: `item-${n}`,
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: `said ${n}` }],
  }) as unknown as Item;

test('"Show more" reaches every item of a block', async () => {
  render(BlockItems, { props: { items: Array.from({ length: 120 }, (_, n) => item(n)) } });
  expect(screen.getAllByTestId('block-item')).toHaveLength(50);
  expect(screen.getByText(/The first 50 of 120 items/)).toBeDefined();
  await fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  await fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  expect(screen.getAllByTestId('block-item').at(-1)?.textContent).toContain('said 119');
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});

test('a block without items shows an empty state', () => {
  render(BlockItems, { props: { items: [] } });
  expect(screen.getByText('This block emitted no items.')).toBeDefined();
});

test('"Show more" reaches every console line', async () => {
  const logs = Array.from({ length: 101 }, (_, n) => ({ level: 'log', text: `line ${n}`, at: n }));
  render(BlockLogs, { props: { logs } });
  expect(screen.queryByText('line 100')).toBeNull();
  await fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  expect(screen.getByText('line 100')).toBeDefined();
});
