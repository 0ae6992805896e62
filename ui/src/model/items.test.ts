import { expect, test, vi } from 'vitest';
import type { AudienceCounts, Item, ItemsQuery, ItemsUpdate, ViewItems } from '../host/host';
import { ItemPages } from './items.svelte';
import type { OpenRequest } from './request.svelte';

const counts = (n: number): AudienceCounts => ({ all: n, client: n, history: n, trace: n });

/** A request with so many items, which notes what it was asked. */
function request(total: number) {
  const asked: ItemsQuery[] = [];
  const open = {
    live: false,
    total,
    async items(query: ItemsQuery): Promise<ViewItems> {
      asked.push(query);
      const ids = Array.from({ length: open.total }, (_, n) => n).slice(query.offset, query.offset + query.limit);
      const page = ids.map((n) => ({ item: { id: String(n) } as Item, isTail: false, isCut: false }));
      return { seq: open.total, total: open.total, counts: counts(open.total), offset: query.offset, page };
    },
  };
  return { open, asked, items: new ItemPages(open as unknown as OpenRequest) };
}
const shown = (items: ItemPages) => {
  const page = items.answer?.page ?? [];
  return `${page[0]?.item.id}–${page.at(-1)?.item.id}`;
};
const news = (total: number, from: number): ItemsUpdate => ({ counts: counts(total), changedFrom: counts(from) });

test('the newest are shown first, and earlier ones a half window at a time', async () => {
  const { items } = request(1_000_000);
  items.show('all', null);
  await vi.waitFor(() => expect(shown(items)).toBe('999900–999999'));
  items.earlier();
  await vi.waitFor(() => expect(shown(items)).toBe('999850–999949'));
  items.later();
  await vi.waitFor(() => expect(shown(items)).toBe('999900–999999'));
  expect(items.first).toBeNull();
  items.go(0);
  await vi.waitFor(() => expect(shown(items)).toBe('0–99'));
  items.earlier();
  await vi.waitFor(() => expect(items.first).toBe(0));
});

test('whoever looks at earlier ones is not moved on, and what does not differ is not read again', async () => {
  const { open, asked, items } = request(300);
  items.show('all', null);
  await vi.waitFor(() => expect(shown(items)).toBe('200–299'));
  items.go(100);
  await vi.waitFor(() => expect(shown(items)).toBe('100–199'));
  const before = asked.length;
  items.advance(news(300, 250));
  expect(asked.length).toBe(before);
  items.advance(news(300, 150));
  await vi.waitFor(() => expect(asked.length).toBe(before + 1));
  items.go(Infinity);
  await vi.waitFor(() => expect(shown(items)).toBe('200–299'));
  open.total = 310;
  items.advance(news(310, 300));
  await vi.waitFor(() => expect(shown(items)).toBe('210–309'));
});

test('a past instant is not read again for what comes later', async () => {
  const { asked, items } = request(10);
  items.show('client', 5);
  await vi.waitFor(() => expect(shown(items)).toBe('0–9'));
  expect(asked[0]).toMatchObject({ audience: 'client', at: 5 });
  // How many come later is asked for once, and told after that.
  await vi.waitFor(() => expect(items.newest).toBe(10));
  expect(asked.slice(1)).toEqual([{ audience: 'all', at: null, offset: 0, limit: 1 }]);
  const before = asked.length;
  items.advance(news(11, 0));
  expect(asked.length).toBe(before);
  expect(items.newest).toBe(11);
  items.show('client', 5);
  expect(asked.length).toBe(before);
});

test('a request without items asks once, and one that is left shows nothing', async () => {
  const { asked, items } = request(0);
  items.show('all', null);
  await vi.waitFor(() => expect(items.answer?.total).toBe(0));
  expect(asked).toHaveLength(1);
  items.clear();
  expect(items.answer).toBeNull();
});
