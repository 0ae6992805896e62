import { expect, test, vi } from 'vitest';
import type { EventRow, Host } from '../host/host';
import { EventPages } from './events.svelte';

function eventsOf(total: number) {
  const asked: number[] = [];
  const state = { total };
  const events = async (_request: string, from: number, limit: number): Promise<EventRow[]> => {
    asked.push(from);
    const count = Math.max(0, Math.min(limit, state.total - from + 1));
    return Array.from({ length: count }, (_, n) => ({ seq: from + n, at: 0, kind: 'logged', payload: {} }));
  };
  const pages = new EventPages({ events } as unknown as Host);
  pages.open('r');
  return { pages, asked, state };
}
const read = (pages: EventPages, seq: number) =>
  vi.waitFor(() => expect(pages.at(seq)?.seq).toBe(seq), { interval: 1 });

test('the last of two million events is read alone, and few pages are ever held', async () => {
  const { pages, asked } = eventsOf(2_000_000);
  pages.show(1_999_970, 2_000_000);
  await read(pages, 2_000_000);
  expect(asked).toEqual([1_999_801]);
  for (let from = 1; from < 100_000; from += 1000) {
    pages.show(from, from + 40);
    await read(pages, from + 20);
  }
  expect(pages.held).toBeLessThanOrEqual(24);
});

test('a page that was not full is read again when it has grown', async () => {
  const { pages, asked, state } = eventsOf(10);
  pages.show(1, 10);
  await read(pages, 10);
  state.total = 15;
  pages.show(1, 15);
  await read(pages, 15);
  expect(asked).toEqual([1, 1]);
  pages.show(1, 15);
  await new Promise((done) => setTimeout(done));
  expect(asked).toHaveLength(2);
});

test('a fast scroll does not ask for what it has left', async () => {
  const { pages, asked } = eventsOf(1_000_000);
  for (let from = 1; from < 900_000; from += 5000) pages.show(from, from + 40, 999_999);
  await read(pages, 895_001);
  await read(pages, 999_999);
  expect(asked.length).toBeLessThan(6);
});
