import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import type { Item, ViewItem } from '../../host/host';
import ItemRow from './ItemRow.svelte';

afterEach(cleanup);

function show(text: string, more: Partial<ViewItem>, fields: Partial<Item> = {}) {
  const item: Item = {
    id: 'item-1',
    type: 'message',
    status: 'completed',
    requestId: 'req-1',
    itemIndex: 0,
    ts: 0,
    seq: 1_234,
    provenance: { path: 'root', blockInstanceId: 'root', blockName: 'root', attempt: 0, phase: 'main' },
    visibility: { client: true, history: true },
    role: 'assistant',
    content: [{ type: 'text', text }],
    ...fields,
  };
  const shown: ViewItem = { item, isTail: false, isCut: false, ...more };
  render(ItemRow, {
    props: { shown, position: 1, total: 1, since: (at: number) => at, chosen: false, onblock: () => {} },
  });
}

test('a partly loaded text shows the length of the whole text', () => {
  show('x'.repeat(4_096), { isCut: true, textBytes: 1_000_000 });
  expect(screen.getByTestId('text-length').textContent).toBe('First 1,200 characters of 977 KB');
  expect(screen.getByTestId('item-cut').textContent).toContain('Items of its block');
});

test('a complete text shows its own length, even if other parts of its item were left out', () => {
  show('é'.repeat(2_000), { isCut: true, textBytes: 4_000 });
  expect(screen.getByTestId('text-length').textContent).toBe('First 1,200 characters of 2,000 characters');
  expect(screen.getByTestId('item-cut').textContent).toContain('event #1,234');
});

test('a write is one line, and its payload is shown on request', async () => {
  const write = { type: 'state_change', content: undefined, role: undefined, scope: 'session', operation: 'patch' };
  show('', {}, { ...write, delta: { turns: 1 }, version: 7 });
  expect(screen.getByTestId('item-line').textContent).toBe('session patch {turns: 1}');
  expect(screen.queryByRole('tree')).toBeNull();
  await fireEvent.click(screen.getByTestId('item-payload'));
  expect(screen.getByRole('tree').textContent).toContain('version');
});

test('a question is shown as a sentence, and its recorded data is folded', async () => {
  const data = { call: { _tool: 'pay', amount: 45, _scopes: ['account'] }, role: 'explicit' };
  const asked = { type: 'suspension', content: undefined, role: undefined, reason: 'approval', data };
  show('', {}, { ...asked, message: 'The call of "pay" waits for your approval', suspensionId: 'susp_1' });
  expect(screen.getByTestId('item').textContent).toContain('Approve pay({ amount: 45 })?');
  expect(screen.getByTestId('item').textContent).not.toContain('susp_1');
  await fireEvent.click(screen.getByTestId('item-payload'));
  expect(screen.getByRole('tree').textContent).toContain('susp_1');
});

test('a text that was cut off says so', () => {
  show('half of i', {}, { status: 'incomplete' });
  expect(screen.getByTestId('item').textContent).toContain('Cut off');
});
