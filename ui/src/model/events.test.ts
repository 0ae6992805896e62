import { expect, test, vi } from 'vitest';
import type { EventParts, Host } from '../host/host';
import { EventPages } from './events.svelte';

function eventsOf(total: number) {
  const asked: number[] = [];
  const state = { total };
  const eventParts = async (_request: string, from: number, limit: number): Promise<EventParts[]> => {
    asked.push(from);
    const count = Math.max(0, Math.min(limit, state.total - from + 1));
    return Array.from({ length: count }, (_, n) => ({ seq: from + n, at: 0, kind: 'logged', payload: { inline: {} } }));
  };
  const pages = new EventPages({ eventParts } as unknown as Host);
  pages.open('r');
  return { pages, asked, state };
}
const read = (pages: EventPages, seq: number) =>
  vi.waitFor(() => expect(pages.at(seq)?.seq).toBe(seq), { interval: 1 });

test('reads only the last page of two million events, and keeps few pages', async () => {
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

test('reads an incomplete page again when it has grown', async () => {
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

test('a fast scroll does not load pages that it has passed', async () => {
  const { pages, asked } = eventsOf(1_000_000);
  for (let from = 1; from < 900_000; from += 5000) pages.show(from, from + 40, 999_999);
  await read(pages, 895_001);
  await read(pages, 999_999);
  expect(asked.length).toBeLessThan(6);
});

test('reads the selected event alone if its page left out its value', async () => {
  const asked: [number, number][] = [];
  const large = { kind: 'object', bytes: 300, count: 1, head: '{a: 1}' } as const;
  const eventParts = async (_: string, from: number, limit: number): Promise<EventParts[]> => {
    asked.push([from, limit]);
    const payload = limit === 1 ? { inline: { a: 1 } } : { large };
    return Array.from({ length: limit }, (_, n) => ({ seq: from + n, at: 0, kind: 'logged', payload }));
  };
  const pages = new EventPages({ eventParts } as unknown as Host);
  pages.open('r');
  pages.show(1, 40, 30);
  await vi.waitFor(() => expect(pages.at(30)?.payload.inline).toEqual({ a: 1 }));
  expect(pages.at(29)?.payload.large?.head).toBe('{a: 1}');
  pages.show(1, 41, 30);
  await new Promise((done) => setTimeout(done, 5));
  expect(asked).toEqual([
    [1, 200],
    [30, 1],
  ]);
});
