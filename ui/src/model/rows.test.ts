import { expect, test, vi } from 'vitest';
import type { Host, RowsQuery, ViewRow, ViewRows } from '../host/host';
import { RowPages } from './rows.svelte';

const row = (node: number, more: Partial<ViewRow> = {}) =>
  ({ node, label: `row ${node}`, status: 'running', ...more }) as ViewRow;

/** A host of so many rows, whose answers can be held back. */
function rowsOf(total: number, nodeAt = (index: number) => index) {
  const asked: RowsQuery[] = [];
  const held: (() => void)[] = [];
  const state = { total, nodeAt, isHeld: false };
  const viewRows = async (_view: number, query: RowsQuery): Promise<ViewRows> => {
    asked.push(query);
    const { offset, limit, at } = query;
    const count = Math.max(0, Math.min(state.total, offset + limit) - offset);
    const status = at ? 'completed' : 'running';
    const page = Array.from({ length: count }, (_, n) => row(state.nodeAt(offset + n), { status }));
    const answer = { seq: 1, rows: state.total, offset, page };
    if (state.isHeld) await new Promise<void>((go) => held.push(go));
    return answer;
  };
  const pages = new RowPages({ viewRows } as unknown as Host);
  const release = () => held.splice(0).forEach((go) => go());
  return { pages, asked, state, release };
}

const read = (pages: RowPages, index: number) =>
  vi.waitFor(() => expect(pages.get(index)).toBeDefined(), { interval: 1 });

test('what is on screen is read first, then what is scrolled towards, and nothing twice', async () => {
  const { pages, asked } = rowsOf(100_000);
  pages.open(1, 100_000);
  await pages.settled();
  const first = asked.length;
  pages.show(50_000, 50_040);
  await read(pages, 50_100);
  await pages.settled();
  await read(pages, 49_970);
  expect(asked.slice(first).map(({ offset }) => offset)).toEqual([49_984, 50_048, 49_920]);
  const before = asked.length;
  pages.show(50_001, 50_041);
  pages.show(50_005, 50_045);
  await pages.settled();
  expect(asked.length).toBe(before);
  expect(pages.get(0)).toBeDefined();
});

test('however far is scrolled, few rows are held', async () => {
  const { pages } = rowsOf(2_000_000);
  pages.open(1, 2_000_000);
  for (let at = 0; at < 400_000; at += 3000) {
    pages.show(at, at + 40);
    await read(pages, at + 20);
  }
  let held = 0;
  for (let at = 0; at < 400_000; at += 32) if (pages.get(at)) held += 32;
  expect(held).toBeLessThan(4000);
  pages.show(1_999_960, 2_000_000);
  await read(pages, 1_999_999);
});

test('rows stay while what changed is read', async () => {
  const { pages, state, release } = rowsOf(100);
  pages.open(1, 100);
  await pages.settled();
  state.isHeld = true;
  state.total = 120;
  pages.advance(120, 10);
  await new Promise((done) => setTimeout(done));
  expect(pages.get(12)?.node).toBe(12);
  expect(pages.total).toBe(100);
  state.isHeld = false;
  release();
  await pages.settled();
  expect(pages.total).toBe(120);
});

test('an update that comes while rows are read makes them be read again', async () => {
  const { pages, state, release, asked } = rowsOf(50);
  state.isHeld = true;
  pages.open(1, 50);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  state.nodeAt = (index) => index + 1000;
  pages.advance(50, 0);
  state.isHeld = false;
  release();
  await pages.settled();
  expect(pages.get(3)?.node).toBe(1003);
});

test('when rows move, those of before give way all at once', async () => {
  const { pages, state } = rowsOf(10_000);
  pages.open(1, 10_000);
  pages.show(0, 40);
  await read(pages, 70);
  const seen: (number | undefined)[] = [];
  await pages.rearrange(
    async () => {
      state.nodeAt = (index) => index * 2;
      return (state.total = 5000);
    },
    (total) => {
      seen.push(pages.get(10)?.node, pages.total);
      return total;
    },
  );
  expect(seen).toEqual([10, 10_000]);
  expect(pages.get(10)?.node).toBe(20);
  expect(pages.get(70)?.node ?? 140).toBe(140);
  expect(pages.total).toBe(5000);
});

test('another instant asks for the same rows as of then', async () => {
  const { pages, asked } = rowsOf(10);
  pages.open(1, 10);
  await pages.settled();
  pages.instant(5);
  await pages.settled();
  expect(asked.at(-1)?.at).toBe(5);
  expect(pages.get(0)?.status).toBe('completed');
  pages.instant(null);
  await pages.settled();
  expect(pages.get(0)?.status).toBe('running');
});

test('a question that fails is told, and does not keep anybody waiting', async () => {
  const pages = new RowPages({ viewRows: () => Promise.reject(new Error('gone')) } as unknown as Host);
  pages.open(1, 10);
  await pages.settled();
  expect(pages.fault?.message).toBe('gone');
});
